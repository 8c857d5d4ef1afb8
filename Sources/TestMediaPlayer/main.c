// sordino-testmediaplayer [prop:KEY=VALUE…]: a program with media players on the session bus. What they play comes from a
// child, sordino-testplayer, which gets the arguments and every line that is not for the players.
//
//   player NAME MANNERS STATUS STREAM   org.mpris.MediaPlayer2.NAME, on a connection of its own, with a stream of the child
//   press NAME STATUS                   its user presses a button: Playing, Paused or Stopped
//   bother NAME COUNT                   it tells of so many new tracks
//
// Manners: honest; toggling (takes Pause and Play for "the other way round"); silent (never answers Pause, and does not
// pause); slow (pauses after 1 s); crashing (dies of Pause); stubborn (answers Pause and plays on); wordless (never tells
// of a change); overtaken (its user pauses it as soon as it has said that it plays); closing (the stream ends with a pause).
//
// It says, beside what the child says: player NAME · called NAME METHOD · told NAME STATUS.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <systemd/sd-bus.h>
#include <systemd/sd-event.h>
#include <unistd.h>

enum { NAMES = 64, LINE = 4096 };

struct player {
    char name[NAMES], manners[NAMES], status[NAMES], stream[NAMES];
    sd_bus *bus;
    struct player *next;
};

static sd_event *loop;
static struct player *players;
static int child_input;

static void say(const char *what, const char *name, const char *value) {
    // One write a line: the child writes to the same place.
    char line[LINE];
    int size = snprintf(line, sizeof line, "%s\t%s%s%s\n", what, name, value ? "\t" : "", value ? value : "");
    if (write(STDOUT_FILENO, line, size) != size) exit(1);
}

static int is(const struct player *player, const char *manners) { return !strcmp(player->manners, manners); }

static void tell_child(const char *format, const char *value) {
    char line[LINE];
    int size = snprintf(line, sizeof line, format, value);
    if (write(child_input, line, size) != size) exit(1);
}

static void enter(struct player *player, const char *status) {
    if (!strcmp(player->status, status)) return;
    int plays = !strcmp(status, "Playing");
    snprintf(player->status, sizeof player->status, "%s", status);
    if (!is(player, "wordless"))
        sd_bus_emit_properties_changed(
            player->bus, "/org/mpris/MediaPlayer2", "org.mpris.MediaPlayer2.Player", "PlaybackStatus", NULL);
    if (*player->stream) {
        if (!is(player, "closing")) tell_child(plays ? "uncork\t%s\n" : "cork\t%s\n", player->stream);
        else if (plays) tell_child("play\t%s\tlatency=80\tamplitude=0.1\tprop:media.role=music\n", player->stream);
        else tell_child("close\t%s\n", player->stream);
    }
    say("told", player->name, status);
}

static int enter_paused(sd_event_source *source, uint64_t time, void *data) {
    (void)source, (void)time;
    enter(data, "Paused");
    return 0;
}

static int enter_paused_now(sd_event_source *source, void *data) {
    sd_event_source_disable_unref(source);
    enter(data, "Paused");
    return 0;
}

static int get_status(
    sd_bus *bus, const char *path, const char *interface, const char *property, sd_bus_message *reply, void *data,
    sd_bus_error *error) {
    (void)bus, (void)path, (void)interface, (void)property, (void)error;
    struct player *player = data;
    if (is(player, "overtaken") && !strcmp(player->status, "Playing")) {
        sd_event_source *source = NULL;
        sd_event_add_defer(loop, &source, enter_paused_now, player);
    }
    return sd_bus_message_append(reply, "s", player->status);
}

static int get_metadata(
    sd_bus *bus, const char *path, const char *interface, const char *property, sd_bus_message *reply, void *data,
    sd_bus_error *error) {
    (void)bus, (void)path, (void)interface, (void)property, (void)data, (void)error;
    return sd_bus_message_append(reply, "a{sv}", 1, "xesam:title", "s", "a track");
}

static int on_pause(sd_bus_message *call, void *data, sd_bus_error *error) {
    (void)error;
    struct player *player = data;
    say("called", player->name, "Pause");
    if (is(player, "silent")) return 1;
    if (is(player, "crashing")) _exit(1);
    if (is(player, "toggling")) enter(player, strcmp(player->status, "Playing") ? "Playing" : "Paused");
    else if (is(player, "slow"))
        sd_event_add_time_relative(loop, NULL, CLOCK_MONOTONIC, 1000000, 1000, enter_paused, player);
    else if (!is(player, "stubborn")) enter(player, "Paused");
    return sd_bus_reply_method_return(call, "");
}

static int on_play(sd_bus_message *call, void *data, sd_bus_error *error) {
    (void)error;
    struct player *player = data;
    say("called", player->name, "Play");
    enter(player, is(player, "toggling") && !strcmp(player->status, "Playing") ? "Paused" : "Playing");
    return sd_bus_reply_method_return(call, "");
}

static int on_toggle(sd_bus_message *call, void *data, sd_bus_error *error) {
    (void)error;
    struct player *player = data;
    say("called", player->name, sd_bus_message_get_member(call));
    enter(player, strcmp(player->status, "Playing") ? "Playing" : "Paused");
    return sd_bus_reply_method_return(call, "");
}

static const sd_bus_vtable table[] = {
    SD_BUS_VTABLE_START(0),
    SD_BUS_METHOD("Pause", "", "", on_pause, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD("Play", "", "", on_play, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD("PlayPause", "", "", on_toggle, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD("Stop", "", "", on_toggle, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_PROPERTY("PlaybackStatus", "s", get_status, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
    SD_BUS_PROPERTY("Metadata", "a{sv}", get_metadata, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
    SD_BUS_VTABLE_END,
};

static struct player *find(const char *name) {
    struct player *player = players;
    while (player && strcmp(player->name, name)) player = player->next;
    if (!player) exit(2);
    return player;
}

static void add(char *fields[]) {
    struct player *player = calloc(1, sizeof *player);
    if (!player) abort();
    snprintf(player->name, sizeof player->name, "%s", fields[1]);
    snprintf(player->manners, sizeof player->manners, "%s", fields[2]);
    snprintf(player->status, sizeof player->status, "%s", fields[3]);
    snprintf(player->stream, sizeof player->stream, "%s", fields[4] ? fields[4] : "");
    player->next = players;
    players = player;
    char name[2 * NAMES];
    snprintf(name, sizeof name, "org.mpris.MediaPlayer2.%s", player->name);
    if (sd_bus_open_user(&player->bus) < 0) exit(3);
    if (sd_bus_add_object_vtable(
            player->bus, NULL, "/org/mpris/MediaPlayer2", "org.mpris.MediaPlayer2.Player", table, player) < 0) exit(4);
    if (sd_bus_request_name(player->bus, name, 0) < 0) exit(5);
    if (sd_bus_attach_event(player->bus, loop, 0) < 0) exit(6);
    say("player", player->name, NULL);
}

static void on_line(char *line) {
    char copy[LINE], *fields[6] = {0};
    snprintf(copy, sizeof copy, "%s", line);
    int count = 0;
    for (char *rest = copy; rest && count < 5;) fields[count++] = strsep(&rest, "\t");
    if (!strcmp(fields[0], "player") && count >= 4) add(fields);
    else if (!strcmp(fields[0], "press") && count == 3) enter(find(fields[1]), fields[2]);
    else if (!strcmp(fields[0], "bother") && count == 3)
        for (int left = atoi(fields[2]); left > 0; left--)
            sd_bus_emit_properties_changed(
                find(fields[1])->bus, "/org/mpris/MediaPlayer2", "org.mpris.MediaPlayer2.Player", "Metadata", NULL);
    else tell_child("%s\n", line);
}

static int on_input(sd_event_source *source, int descriptor, uint32_t events, void *data) {
    static char text[1 << 16];
    static size_t size;
    (void)source, (void)events, (void)data;
    ssize_t count = read(descriptor, text + size, sizeof text - 1 - size);
    if (count < 0 && errno == EINTR) return 0;
    if (count <= 0) return sd_event_exit(loop, 0);
    size += count;
    text[size] = 0;
    char *start = text;
    for (char *end; (end = strchr(start, '\n')); start = end + 1) {
        *end = 0;
        on_line(start);
    }
    size -= start - text;
    memmove(text, start, size);
    return 0;
}

/// The child is in the same directory as this program.
static void start_child(char *arguments[]) {
    char path[PATH_MAX];
    ssize_t size = readlink("/proc/self/exe", path, sizeof path - NAMES);
    if (size < 0) exit(7);
    path[size] = 0;
    strcpy(strrchr(path, '/') + 1, "sordino-testplayer");
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0) exit(8);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[0], STDIN_FILENO);
    pid_t pid;
    arguments[0] = path;
    if (posix_spawn(&pid, path, &actions, NULL, arguments, environ)) exit(9);
    close(ends[0]);
    child_input = ends[1];
}

int main(int count, char *arguments[]) {
    (void)count;
    signal(SIGPIPE, SIG_IGN);
    start_child(arguments);
    if (sd_event_default(&loop) < 0) return 1;
    if (sd_event_add_io(loop, NULL, STDIN_FILENO, EPOLLIN, on_input, NULL) < 0) return 1;
    return sd_event_loop(loop) < 0;
}
