import SordinoCommand

Sordino.main()
