#define _GNU_SOURCE
#include "CSupervisor.h"
#include <errno.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

static sigset_t ending(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGHUP);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGQUIT);
    sigaddset(&set, SIGTERM);
    return set;
}

int supervisor_block_signals(void) {
    sigset_t set = ending();
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    int signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    return signals < 0 ? -errno : signals;
}

int supervisor_next_signal(int signals, int *from_terminal) {
    struct signalfd_siginfo info;
    if (read(signals, &info, sizeof info) != sizeof info) return 0;
    *from_terminal = info.ssi_code == SI_KERNEL;
    return info.ssi_signo;
}

void supervisor_unblock_signals(int signals) {
    sigset_t set = ending();
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    close(signals);
}
