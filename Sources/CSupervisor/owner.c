#define _GNU_SOURCE
#include "CSupervisor.h"
#include "protocol.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static ssize_t received(int socket, void *data, size_t size) {
    ssize_t count;
    do count = recv(socket, data, size, 0);
    while (count < 0 && errno == EINTR);
    return count;
}

int supervisor_start(char *directory, pid_t *process) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0) return -errno;
    // No handler of the owner's may run in the copy.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pid_t child = fork();
    if (child == 0) _exit(supervise(ends[1], directory));
    int error = errno;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    close(ends[1]);
    if (child < 0) {
        close(ends[0]);
        return -error;
    }
    // The supervisor makes the directory, so that no moment exists in which nobody would remove it.
    struct answer answer = {-EPIPE};
    size_t length = strlen(directory);
    if (received(ends[0], &answer, sizeof answer) == sizeof answer && answer.result == 0 &&
        received(ends[0], directory, length) == (ssize_t)length) {
        *process = child;
        return ends[0];
    }
    supervisor_finish(ends[0], child, directory);
    return answer.result < 0 ? answer.result : -EPIPE;
}

static int ask(int socket, const struct request *request, const int *descriptors, int count) {
    struct iovec part = {(void *)request, sizeof *request};
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int) * DESCRIPTORS)] = {0};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    if (count > 0) {
        message.msg_control = control;
        message.msg_controllen = CMSG_SPACE(sizeof(int) * count);
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(sizeof(int) * count);
        memcpy(CMSG_DATA(header), descriptors, sizeof(int) * count);
    }
    ssize_t sent;
    do sent = sendmsg(socket, &message, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    if (sent < 0) return -errno;
    struct answer answer;
    return received(socket, &answer, sizeof answer) == sizeof answer ? answer.result : -EPIPE;
}

static int append(int file, const char *text, size_t *size) {
    for (size_t left = strlen(text) + 1; left > 0;) {
        ssize_t written = write(file, text, left);
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return -errno;
        text += written, left -= written, *size += written;
    }
    return 0;
}

static int append_all(int file, char *const texts[], int *count, size_t *size) {
    int result = 0;
    for (*count = 0; texts[*count] && result == 0; ++*count) result = append(file, texts[*count], size);
    return result;
}

int supervisor_spawn(
    int socket, const char *path, char *const arguments[], char *const environment[], const int standard[3], pid_t group,
    pid_t *process) {
    int text = memfd_create("spawn", MFD_CLOEXEC);
    if (text < 0) return -errno;
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0) {
        int error = errno;
        close(text);
        return -error;
    }
    struct request request = {.kind = REQUEST_SPAWN, .group = group};
    int result = append(text, path, &request.size);
    if (result == 0) result = append_all(text, arguments, &request.arguments, &request.size);
    if (result == 0) result = append_all(text, environment, &request.environment, &request.size);
    int descriptors[DESCRIPTORS] = {text, standard[0], standard[1], standard[2], ends[1]};
    if (result == 0) result = ask(socket, &request, descriptors, DESCRIPTORS);
    close(text);
    close(ends[1]);
    if (result < 0) {
        close(ends[0]);
        return result;
    }
    *process = result;
    return ends[0];
}

int supervisor_signal(int socket, pid_t process, int signal) {
    struct request request = {.kind = REQUEST_SIGNAL, .process = process, .signal = signal};
    return ask(socket, &request, NULL, 0);
}

void supervisor_finish(int socket, pid_t process, const char *directory) {
    shutdown(socket, SHUT_WR);
    char rest[64];
    while (received(socket, rest, sizeof rest) > 0) {}
    close(socket);
    int status = 0;
    while (waitpid(process, &status, 0) < 0 && errno == EINTR) {}
    if (WIFSIGNALED(status)) remove_tree(AT_FDCWD, directory);
}
