// sordino-testplayer [prop:KEY=VALUE…]: a PulseAudio client with any number of streams, driven by lines on its standard
// input. Its name and other properties are the arguments. Fields are separated by tabs.
//
//   play NAME [device= frequency= amplitude= channels= latency=MS volume= corked=1 muted=1 silent=1 stubborn=1
//              dont-move=1 passthrough=1 prop:KEY=VALUE…]
//   record NAME [device= monitor-stream= peak-detect=1 …]
//   cork NAME · uncork NAME · silence NAME · sound NAME · amplitude NAME VALUE · tag NAME KEY=VALUE
//   mute NAME · unmute NAME · volume NAME LINEAR · peak NAME · close NAME · quit
//
// It says: ready · started NAME INDEX DEVICE · failed NAME REASON · ended NAME · moved NAME DEVICE ·
//   request-cork NAME · request-uncork NAME · peak NAME VALUE · done COMMAND NAME 0|1
#include "player.h"
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LINE_SIZE = 1 << 17, FIELDS = 64 };

pa_context *context;
static pa_mainloop *loop;
static struct stream *streams;

void say(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    putchar('\n');
    fflush(stdout);
}

static struct stream *find(const char *name) {
    struct stream *stream = streams;
    while (stream && strcmp(stream->name, name)) stream = stream->next;
    return stream;
}

static struct stream *add(const char *name, int records) {
    struct stream *stream = calloc(1, sizeof *stream);
    if (!stream) abort();
    snprintf(stream->name, sizeof stream->name, "%s", name);
    stream->records = records;
    stream->next = streams;
    return streams = stream;
}

static void forget(struct stream *stream) {
    struct stream **link = &streams;
    while (*link != stream) link = &(*link)->next;
    *link = stream->next;
    pa_stream_set_state_callback(stream->handle, NULL, NULL);
    pa_stream_set_write_callback(stream->handle, NULL, NULL);
    pa_stream_set_read_callback(stream->handle, NULL, NULL);
    pa_stream_set_moved_callback(stream->handle, NULL, NULL);
    pa_stream_set_event_callback(stream->handle, NULL, NULL);
    pa_stream_disconnect(stream->handle);
    pa_stream_unref(stream->handle);
    say("done\tclose\t%s\t1", stream->name);
    free(stream);
}

/// What an operation was for, until it is done.
struct request {
    char text[NAME_SIZE + 16];
};

static void done(struct request *request, int success) {
    say("done\t%s\t%d", request->text, success);
    free(request);
}

static void on_stream(pa_stream *handle, int success, void *data) {
    (void)handle;
    done(data, success);
}

static void on_context(pa_context *handle, int success, void *data) {
    (void)handle;
    done(data, success);
}

static pa_operation *tag(struct stream *stream, const char *pair, struct request *request) {
    pa_proplist *list = pa_proplist_new();
    pa_proplist_setp(list, pair);
    pa_operation *operation =
        pa_stream_proplist_update(stream->handle, PA_UPDATE_REPLACE, list, on_stream, request);
    pa_proplist_free(list);
    return operation;
}

static pa_operation *mute(struct stream *stream, int muted, struct request *request) {
    uint32_t index = pa_stream_get_index(stream->handle);
    return stream->records ? pa_context_set_source_output_mute(context, index, muted, on_context, request)
                           : pa_context_set_sink_input_mute(context, index, muted, on_context, request);
}

static pa_operation *operate(struct stream *stream, const char *command, const char *value, struct request *request) {
    uint32_t index = pa_stream_get_index(stream->handle);
    if (!strcmp(command, "cork")) return pa_stream_cork(stream->handle, 1, on_stream, request);
    if (!strcmp(command, "uncork")) return pa_stream_cork(stream->handle, 0, on_stream, request);
    if (!strcmp(command, "tag")) return tag(stream, value, request);
    if (!strcmp(command, "mute")) return mute(stream, 1, request);
    if (!strcmp(command, "unmute")) return mute(stream, 0, request);
    if (!strcmp(command, "volume")) {
        pa_cvolume volume;
        pa_cvolume_set(&volume, stream->channels, pa_sw_volume_from_linear(atof(value)));
        return pa_context_set_sink_input_volume(context, index, &volume, on_context, request);
    }
    return NULL;
}

static void obey(struct stream *stream, const char *command, const char *value) {
    int at_once = 1;
    if (!strcmp(command, "silence")) stream->sounds = 0;
    else if (!strcmp(command, "sound")) stream->sounds = 1;
    else if (!strcmp(command, "amplitude")) stream->amplitude = atof(value);
    else if (!strcmp(command, "peak")) {
        say("peak\t%s\t%.6f", stream->name, stream->peak);
        stream->peak = 0;
        return;
    } else if (!strcmp(command, "frames")) {
        say("frames\t%s\t%llu", stream->name, stream->frames);
        return;
    } else at_once = 0;
    if (at_once) {
        say("done\t%s\t%s\t1", command, stream->name);
        return;
    }
    struct request *request = malloc(sizeof *request);
    if (!request) abort();
    snprintf(request->text, sizeof request->text, "%.15s\t%s", command, stream->name);
    pa_operation *operation = operate(stream, command, value, request);
    if (operation) pa_operation_unref(operation);
    else done(request, 0);
}

static void on_line(char *line) {
    char *fields[FIELDS + 1];
    int count = 0;
    for (char *rest = line; rest && count < FIELDS;) fields[count++] = strsep(&rest, "\t");
    fields[count] = NULL;
    if (!strcmp(fields[0], "quit")) {
        pa_mainloop_quit(loop, 0);
        return;
    }
    const char *name = count > 1 ? fields[1] : "";
    int plays = !strcmp(fields[0], "play"), records = !strcmp(fields[0], "record");
    struct stream *stream = find(name);
    if ((plays || records) && !stream) open_stream(add(name, records), fields + 2);
    else if (!stream || plays || records) say("done\t%s\t%s\t0", fields[0], name);
    else if (!strcmp(fields[0], "close")) forget(stream);
    else obey(stream, fields[0], count > 2 ? fields[2] : "");
}

static void on_input(pa_mainloop_api *api, pa_io_event *event, int descriptor, pa_io_event_flags_t flags, void *data) {
    static char text[LINE_SIZE];
    static size_t size;
    (void)flags, (void)data;
    ssize_t count = read(descriptor, text + size, sizeof text - 1 - size);
    if (count < 0 && errno == EINTR) return;
    if (count <= 0) {
        api->io_free(event);
        pa_mainloop_quit(loop, 0);
        return;
    }
    size += count;
    text[size] = 0;
    char *start = text;
    for (char *end; (end = strchr(start, '\n')); start = end + 1) {
        *end = 0;
        on_line(start);
    }
    size -= start - text;
    memmove(text, start, size);
}

static void on_state(pa_context *handle, void *data) {
    pa_mainloop_api *api = data;
    switch (pa_context_get_state(handle)) {
    case PA_CONTEXT_READY:
        say("ready");
        // Lines are read from here on, so none meets a connection that is not there yet.
        api->io_new(api, STDIN_FILENO, PA_IO_EVENT_INPUT, on_input, NULL);
        break;
    case PA_CONTEXT_FAILED:
    case PA_CONTEXT_TERMINATED:
        say("disconnected\t%s", pa_strerror(pa_context_errno(handle)));
        pa_mainloop_quit(loop, 1);
        break;
    default: break;
    }
}

int main(int count, char *arguments[]) {
    signal(SIGPIPE, SIG_IGN);
    loop = pa_mainloop_new();
    pa_mainloop_api *api = pa_mainloop_get_api(loop);
    pa_proplist *list = pa_proplist_new();
    pa_proplist_sets(list, PA_PROP_APPLICATION_NAME, "sordino-testplayer");
    for (int i = 1; i < count; i++)
        if (!strncmp(arguments[i], "prop:", 5)) pa_proplist_setp(list, arguments[i] + 5);
    context = pa_context_new_with_proplist(api, NULL, list);
    pa_proplist_free(list);
    pa_context_set_state_callback(context, on_state, api);
    int result = 1;
    if (pa_context_connect(context, NULL, PA_CONTEXT_NOAUTOSPAWN, NULL) < 0)
        say("disconnected\t%s", pa_strerror(pa_context_errno(context)));
    else pa_mainloop_run(loop, &result);
    return result;
}
