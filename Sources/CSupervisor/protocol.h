// What owner and supervisor say to each other: one packet each way. The strings of a spawn are in a sealed-off memory
// file, since a packet is too small for some environments.
#pragma once
#include <sys/types.h>

enum request_kind { REQUEST_SPAWN, REQUEST_SIGNAL };

/// The descriptors that come with REQUEST_SPAWN, in this order.
enum { TEXT, STANDARD, EXIT = STANDARD + 3, DESCRIPTORS };

struct request {
    enum request_kind kind;
    /// REQUEST_SPAWN: counts and size of the strings: path, arguments, environment, each ended by NUL.
    int arguments, environment;
    size_t size;
    pid_t group;
    /// REQUEST_SIGNAL
    pid_t process;
    int signal;
};

struct answer {
    /// A negative errno, 0, or the process.
    int result;
};

int supervise(int socket, char *directory);

/// Removes a directory and all that is in it, following no link.
void remove_tree(int parent, const char *name);
