#!/usr/bin/env python3
"""Holds a claim and prints what it is told, until it is ended: hold.py [KIND]

Needs Debian's python3-gi. The claim ends with this process, however that comes about.
"""
import sys
from gi.repository import Gio, GLib

NAME, PATH = "org.sordino.AudioSession1", "/org/sordino/AudioSession1"
bus = Gio.bus_get_sync(Gio.BusType.SESSION)
bus.signal_subscribe(
    NAME, NAME + ".Claim", None, None, None, Gio.DBusSignalFlags.NONE,
    lambda bus, sender, path, interface, signal, values: print(signal, *values.unpack(), flush=True))
request = GLib.Variant("(ssa{sv})", (sys.argv[1] if sys.argv[1:] else "playback", "system", {}))
try:
    (claim,) = bus.call_sync(NAME, PATH, NAME, "Acquire", request, None, Gio.DBusCallFlags.NONE, -1, None).unpack()
except GLib.Error as error:
    sys.exit(error.message)
print("Acquired", claim, flush=True)
GLib.MainLoop().run()
