#define _GNU_SOURCE
#include "protocol.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

// Runs in a fork of a threaded process: nothing of the owner's runtime is touched here. glibc keeps malloc usable.

/// How long a child may take to end by itself.
enum { GRACE_MS = 1000, CHILDREN = 512 };

struct child {
    /// 0: the slot is free.
    pid_t process;
    /// Whether it leads a process group.
    int leads;
    int exit;
};

/// In order of their start.
static struct child children[CHILDREN];
static int child_count;

static void reap(int options) {
    int status;
    pid_t process;
    while ((process = waitpid(-1, &status, options)) > 0 || (process < 0 && errno == EINTR)) {
        for (int i = 0; process > 0 && i < child_count; i++) {
            if (children[i].process != process) continue;
            // Told by a pipe of its own: nobody needs to be waiting for it now.
            if (write(children[i].exit, &status, sizeof status) < 0) {}
            close(children[i].exit);
            children[i].process = 0;
        }
    }
    while (child_count > 0 && children[child_count - 1].process == 0) child_count--;
}

/// The slots keep the order of start; holes are closed when room is needed.
static struct child *new_slot(void) {
    if (child_count == CHILDREN) {
        int kept = 0;
        for (int i = 0; i < CHILDREN; i++)
            if (children[i].process) children[kept++] = children[i];
        child_count = kept;
    }
    return child_count < CHILDREN ? &children[child_count] : NULL;
}

static void reset_signals(void) {
    for (int number = 1; number < NSIG; number++) signal(number, SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

static _Noreturn void become(
    const struct request *request, const int *descriptors, char **strings, pid_t supervisor, int failure) {
    setpgid(0, request->group);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != supervisor) _exit(127);
    reset_signals();
    int result = 0;
    for (int i = 0; i < 3 && result >= 0; i++) result = dup2(descriptors[STANDARD + i], i);
    if (result >= 0) execve(strings[0], strings + 1, strings + 1 + request->arguments + 1);
    int error = errno;
    if (write(failure, &error, sizeof error) < 0) {}
    _exit(127);
}

/// The strings as `execve` takes them: the path, the arguments and NULL, the environment and NULL.
static char **split(const struct request *request, int file, char **text) {
    *text = mmap(NULL, request->size, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
    if (*text == MAP_FAILED) return NULL;
    char **strings = calloc(request->arguments + request->environment + 3, sizeof *strings);
    if (!strings) return NULL;
    char *next = *text;
    int at = 0;
    strings[at++] = next;
    next += strlen(next) + 1;
    for (int i = 0; i < request->arguments; i++, next += strlen(next) + 1) strings[at++] = next;
    at++;
    for (int i = 0; i < request->environment; i++, next += strlen(next) + 1) strings[at++] = next;
    return strings;
}

static int spawn(const struct request *request, int *descriptors) {
    struct child *slot = new_slot();
    if (!slot) return -EAGAIN;
    char *text = NULL;
    char **strings = split(request, descriptors[TEXT], &text);
    int failure[2];
    if (!strings || pipe2(failure, O_CLOEXEC) < 0) return -ENOMEM;
    pid_t supervisor = getpid();
    pid_t process = fork();
    if (process == 0) become(request, descriptors, strings, supervisor, failure[1]);
    int error = process < 0 ? errno : 0;
    close(failure[1]);
    if (process > 0 && read(failure[0], &error, sizeof error) > 0) waitpid(process, NULL, 0);
    close(failure[0]);
    munmap(text, request->size);
    free(strings);
    if (error) return -error;
    *slot = (struct child){process, request->group == 0, descriptors[EXIT]};
    descriptors[EXIT] = -1;
    child_count++;
    return process;
}

static int send_signal(const struct request *request) {
    for (int i = 0; i < child_count; i++)
        if (children[i].process == request->process) return kill(request->process, request->signal) < 0 ? -errno : 0;
    return -ESRCH;
}

/// Answers one request; false at the owner's end.
static int serve(int socket) {
    struct request request;
    struct iovec part = {&request, sizeof request};
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int) * DESCRIPTORS)];
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    ssize_t size = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
    if (size < 0 && errno == EINTR) return 1;
    if (size != sizeof request) return 0;
    int descriptors[DESCRIPTORS] = {-1, -1, -1, -1, -1};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    if (header && header->cmsg_type == SCM_RIGHTS)
        memcpy(descriptors, CMSG_DATA(header), header->cmsg_len - CMSG_LEN(0));
    struct answer answer = {-EINVAL};
    if (request.kind == REQUEST_SIGNAL) answer.result = send_signal(&request);
    if (request.kind == REQUEST_SPAWN && descriptors[EXIT] >= 0) answer.result = spawn(&request, descriptors);
    for (int i = 0; i < DESCRIPTORS; i++)
        if (descriptors[i] >= 0) close(descriptors[i]);
    return send(socket, &answer, sizeof answer, MSG_NOSIGNAL) == sizeof answer;
}

static long now_ms(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

/// Waits for the end of one child, at most its grace.
static void await_end(int ended, pid_t process, int slot) {
    struct signalfd_siginfo info;
    for (long deadline = now_ms() + GRACE_MS, left = GRACE_MS; left > 0; left = deadline - now_ms()) {
        reap(WNOHANG);
        if (slot >= child_count || children[slot].process != process) return;
        struct pollfd ready = {ended, POLLIN, 0};
        if (poll(&ready, 1, left) > 0 && read(ended, &info, sizeof info) < 0) return;
    }
}

static pid_t parent_of(const char *process) {
    char path[64] = "/proc/", text[512];
    strncat(path, process, 20);
    strcat(path, "/stat");
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return -1;
    ssize_t size = read(file, text, sizeof text - 1);
    close(file);
    if (size <= 0) return -1;
    text[size] = 0;
    // "pid (name) S parent …"; a name may hold anything, so the last parenthesis counts.
    char *end = strrchr(text, ')');
    return end && strlen(end) > 4 ? atoi(end + 4) : -1;
}

/// Kills what was left to us by children that have ended; true if there was any.
static int kill_orphans(void) {
    int found = 0;
    pid_t self = getpid();
    DIR *processes = opendir("/proc");
    if (!processes) return 0;
    for (struct dirent *entry; (entry = readdir(processes));)
        if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' && parent_of(entry->d_name) == self)
            found |= kill(atoi(entry->d_name), SIGKILL) == 0;
    closedir(processes);
    return found;
}

static void end_all(int ended) {
    for (int i = child_count - 1; i >= 0; i = i < child_count ? i - 1 : child_count - 1) {
        pid_t process = children[i].process;
        if (!process) continue;
        kill(process, SIGTERM);
        kill(process, SIGCONT);
        await_end(ended, process, i);
        if (i >= child_count || children[i].process != process) continue;
        kill(children[i].leads ? -process : process, SIGKILL);
        await_end(ended, process, i);
    }
    // Each that is killed may leave its own children to us, so only one end is waited for before looking again.
    while (kill_orphans() && waitpid(-1, NULL, 0) > 0) {}
}

void remove_tree(int parent, const char *name) {
    int directory = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *entries = directory >= 0 ? fdopendir(directory) : NULL;
    if (!entries) return;
    for (struct dirent *entry; (entry = readdir(entries));) {
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..")) continue;
        if (unlinkat(directory, entry->d_name, 0) < 0) remove_tree(directory, entry->d_name);
    }
    closedir(entries);
    unlinkat(parent, name, AT_REMOVEDIR);
}

/// Leaves the owner's terminal, signals and descriptors alone from here on; returns the descriptor of ended children.
static int settle(int *socket) {
    for (int number = 1; number < NSIG; number++)
        signal(number, number == SIGCHLD ? SIG_DFL : SIG_IGN);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigprocmask(SIG_SETMASK, &set, NULL);
    setpgid(0, 0);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    prctl(PR_SET_NAME, "headless-keeper");
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    int own = fcntl(*socket, F_DUPFD, 4);
    for (int i = 0; i < 3; i++) dup2(null, i);
    *socket = dup3(own, 3, O_CLOEXEC);
    if (close_range(4, ~0u, 0) < 0)
        for (int i = 4; i < 65536; i++) close(i);
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

int supervise(int socket, char *directory) {
    int ended = settle(&socket);
    struct answer answer = {mkdtemp(directory) && ended >= 0 ? 0 : -errno};
    if (send(socket, &answer, sizeof answer, MSG_NOSIGNAL) < 0 || answer.result < 0) {
        rmdir(directory);
        return 1;
    }
    struct pollfd ready[2] = {{socket, POLLIN, 0}, {ended, POLLIN, 0}};
    int owned = send(socket, directory, strlen(directory), MSG_NOSIGNAL) > 0;
    while (owned) {
        if (poll(ready, 2, -1) < 0) continue;
        struct signalfd_siginfo info;
        while (read(ended, &info, sizeof info) > 0) {}
        reap(WNOHANG);
        if (ready[0].revents) owned = serve(socket);
    }
    end_all(ended);
    remove_tree(AT_FDCWD, directory);
    return 0;
}
