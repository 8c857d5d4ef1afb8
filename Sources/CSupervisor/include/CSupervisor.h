/// A process that starts others for its owner and outlives it just long enough to end them all.
///
/// Swift can neither fork nor ask for a signal at a parent's death. The supervisor is a fork of the owner: it adopts
/// whatever its children leave behind, and when the owner's end of its socket closes (also by SIGKILL) it ends them,
/// newest first, and removes its directory. When it is killed itself, its children are killed by the kernel.
#pragma once
#include <stddef.h>
#include <sys/types.h>

/// Forks a supervisor with a directory of its own (mode 0700) from `directory`, a template that ends in XXXXXX and is
/// filled in. Returns the owner's end of its socket and its process in `process`, or a negative errno.
int supervisor_start(char *directory, pid_t *process);

/// Starts `path` with the three given descriptors as its standard ones, in process group `group` (0: one of its own).
/// Returns a descriptor that yields the wait status (an int) at the process's end and then the end of file, or a
/// negative errno, among them that of a failed exec. Requests on one socket must not overlap.
int supervisor_spawn(
    int socket, const char *path, char *const arguments[], char *const environment[], const int standard[3], pid_t group,
    pid_t *process);

/// Sends a signal to a process that this supervisor started and that has not ended. 0, or a negative errno.
int supervisor_signal(int socket, pid_t process, int signal);

/// Asks for the end of everything and waits for it. Closes the socket. Removes the directory if the supervisor could
/// not, having been killed.
void supervisor_finish(int socket, pid_t process, const char *directory);

/// Blocks the signals that ask a command to end (SIGHUP, SIGINT, SIGQUIT, SIGTERM) in this thread and those it starts;
/// returns a descriptor that yields them, or a negative errno.
int supervisor_block_signals(void);

/// The next of them, or 0. `from_terminal` tells those that the kernel sent to the whole foreground process group.
int supervisor_next_signal(int signals, int *from_terminal);

/// Gives the signals their effect again and closes the descriptor.
void supervisor_unblock_signals(int signals);
