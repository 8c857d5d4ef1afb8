// Streams of a test player: tones and captures of one PulseAudio client.
#pragma once
#include <pulse/pulseaudio.h>

enum { NAME_SIZE = 64 };

struct stream {
    struct stream *next;
    char name[NAME_SIZE];
    pa_stream *handle;
    /// 0: it plays; else it records.
    int records;
    /// Whether the tone sounds; silence is still written otherwise.
    int sounds;
    /// Whether it does what a cork request asks for.
    int obeys;
    int passthrough;
    int channels;
    double frequency;
    double amplitude;
    /// Frames written so far: the tone's phase.
    unsigned long long frames;
    /// Loudest sample recorded since it was last asked for.
    float peak;
};

extern pa_context *context;

/// One line to whoever drives the player; fields are separated by tabs.
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/// The value of `key=value` among fields, or `fallback`.
const char *option(char *const fields[], const char *key, const char *fallback);
int flag(char *const fields[], const char *key);

/// Opens a stream from the fields of a `play` or `record` line.
void open_stream(struct stream *stream, char *const fields[]);
