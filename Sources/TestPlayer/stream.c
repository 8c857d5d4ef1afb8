#include "player.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RATE = 48000 };

const char *option(char *const fields[], const char *key, const char *fallback) {
    size_t length = strlen(key);
    for (; *fields; fields++)
        if (!strncmp(*fields, key, length) && (*fields)[length] == '=') return *fields + length + 1;
    return fallback;
}

int flag(char *const fields[], const char *key) { return atoi(option(fields, key, "0")); }

static void fill(struct stream *stream, float *samples, size_t frames) {
    for (size_t i = 0; i < frames; i++, stream->frames++) {
        double phase = fmod(stream->frames * stream->frequency / RATE, 1);
        float value = stream->sounds ? (float)(stream->amplitude * sin(2 * M_PI * phase)) : 0;
        for (int channel = 0; channel < stream->channels; channel++) *samples++ = value;
    }
}

static void on_write(pa_stream *handle, size_t size, void *data) {
    struct stream *stream = data;
    while (size > 0) {
        void *buffer;
        size_t count = size;
        if (pa_stream_begin_write(handle, &buffer, &count) < 0 || !buffer) return;
        if (count > size) count = size;
        size_t frame = pa_frame_size(pa_stream_get_sample_spec(handle));
        count -= count % frame;
        if (stream->passthrough) memset(buffer, 0, count);
        else fill(stream, buffer, count / frame);
        if (count == 0 || pa_stream_write(handle, buffer, count, NULL, 0, PA_SEEK_RELATIVE) < 0) return;
        size -= count;
    }
}

static void on_read(pa_stream *handle, size_t size, void *data) {
    struct stream *stream = data;
    (void)size;
    const void *buffer;
    size_t count;
    while (pa_stream_readable_size(handle) > 0 && pa_stream_peek(handle, &buffer, &count) >= 0 && count > 0) {
        const float *samples = buffer;
        for (size_t i = 0; samples && i < count / sizeof *samples; i++)
            if (fabsf(samples[i]) > stream->peak) stream->peak = fabsf(samples[i]);
        pa_stream_drop(handle);
    }
}

static void on_state(pa_stream *handle, void *data) {
    struct stream *stream = data;
    switch (pa_stream_get_state(handle)) {
    case PA_STREAM_READY:
        say("started\t%s\t%u\t%s", stream->name, pa_stream_get_index(handle), pa_stream_get_device_name(handle));
        break;
    case PA_STREAM_FAILED:
        say("failed\t%s\t%s", stream->name, pa_strerror(pa_context_errno(context)));
        break;
    case PA_STREAM_TERMINATED: say("ended\t%s", stream->name); break;
    default: break;
    }
}

static void on_moved(pa_stream *handle, void *data) {
    struct stream *stream = data;
    say("moved\t%s\t%s", stream->name, pa_stream_get_device_name(handle));
}

static void on_event(pa_stream *handle, const char *event, pa_proplist *properties, void *data) {
    struct stream *stream = data;
    (void)properties;
    say("%s\t%s", event, stream->name);
    int cork = !strcmp(event, PA_STREAM_EVENT_REQUEST_CORK);
    if (!cork && strcmp(event, PA_STREAM_EVENT_REQUEST_UNCORK)) return;
    pa_operation *operation = stream->obeys ? pa_stream_cork(handle, cork, NULL, NULL) : NULL;
    if (operation) pa_operation_unref(operation);
}

static pa_proplist *properties(const struct stream *stream, char *const fields[]) {
    pa_proplist *list = pa_proplist_new();
    pa_proplist_sets(list, PA_PROP_MEDIA_NAME, stream->name);
    for (; *fields; fields++)
        if (!strncmp(*fields, "prop:", 5)) pa_proplist_setp(list, *fields + 5);
    return list;
}

static pa_stream *new_stream(struct stream *stream, const pa_sample_spec *spec, char *const fields[]) {
    pa_proplist *list = properties(stream, fields);
    pa_stream *handle;
    if (stream->passthrough) {
        pa_format_info *format = pa_format_info_new();
        format->encoding = PA_ENCODING_AC3_IEC61937;
        pa_format_info_set_rate(format, RATE);
        pa_format_info_set_channels(format, 2);
        handle = pa_stream_new_extended(context, stream->name, &format, 1, list);
        pa_format_info_free(format);
    } else {
        // The order of channels that PipeWire's null sinks and most files have.
        pa_channel_map map;
        pa_channel_map_init_extend(&map, spec->channels, PA_CHANNEL_MAP_WAVEEX);
        handle = pa_stream_new_with_proplist(context, stream->name, spec, &map, list);
    }
    pa_proplist_free(list);
    return handle;
}

static int connect_stream(struct stream *stream, const pa_sample_spec *spec, char *const fields[]) {
    pa_usec_t latency = atoi(option(fields, "latency", "40")) * PA_USEC_PER_MSEC;
    uint32_t length = pa_usec_to_bytes(latency, spec);
    pa_buffer_attr attributes = {
        .maxlength = -1, .tlength = length, .prebuf = -1, .minreq = length / 4, .fragsize = length / 4};
    pa_stream_flags_t flags = PA_STREAM_ADJUST_LATENCY;
    if (flag(fields, "corked")) flags |= PA_STREAM_START_CORKED;
    if (flag(fields, "muted")) flags |= PA_STREAM_START_MUTED;
    if (flag(fields, "dont-move")) flags |= PA_STREAM_DONT_MOVE;
    if (flag(fields, "peak-detect")) flags |= PA_STREAM_PEAK_DETECT;
    if (stream->passthrough) flags |= PA_STREAM_PASSTHROUGH;
    const char *device = option(fields, "device", NULL);
    if (stream->records) {
        const char *monitored = option(fields, "monitor-stream", NULL);
        if (monitored) pa_stream_set_monitor_stream(stream->handle, strtoul(monitored, NULL, 10));
        return pa_stream_connect_record(stream->handle, device, &attributes, flags);
    }
    const char *level = option(fields, "volume", NULL);
    pa_cvolume volume;
    if (level) pa_cvolume_set(&volume, spec->channels, pa_sw_volume_from_linear(atof(level)));
    return pa_stream_connect_playback(stream->handle, device, &attributes, flags, level ? &volume : NULL, NULL);
}

void open_stream(struct stream *stream, char *const fields[]) {
    stream->channels = atoi(option(fields, "channels", "2"));
    stream->frequency = atof(option(fields, "frequency", "600"));
    stream->amplitude = atof(option(fields, "amplitude", "0.1"));
    stream->sounds = !flag(fields, "silent");
    stream->obeys = !flag(fields, "stubborn");
    stream->passthrough = flag(fields, "passthrough");
    int peaks = flag(fields, "peak-detect");
    if (peaks) stream->channels = 1;
    pa_sample_spec spec = {PA_SAMPLE_FLOAT32LE, peaks ? 25 : RATE, (uint8_t)stream->channels};
    stream->handle = new_stream(stream, &spec, fields);
    if (!stream->handle) {
        say("failed\t%s\t%s", stream->name, pa_strerror(pa_context_errno(context)));
        return;
    }
    pa_stream_set_state_callback(stream->handle, on_state, stream);
    pa_stream_set_write_callback(stream->handle, on_write, stream);
    pa_stream_set_read_callback(stream->handle, on_read, stream);
    pa_stream_set_moved_callback(stream->handle, on_moved, stream);
    pa_stream_set_event_callback(stream->handle, on_event, stream);
    if (connect_stream(stream, &spec, fields) < 0)
        say("failed\t%s\t%s", stream->name, pa_strerror(pa_context_errno(context)));
}
