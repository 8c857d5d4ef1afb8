// A media player on the session bus that plays and says nothing: what an idle desktop has.
#include <stdio.h>
#include <systemd/sd-bus.h>

static int status(
    sd_bus *bus, const char *path, const char *interface, const char *property, sd_bus_message *reply, void *data,
    sd_bus_error *error) {
    (void)bus, (void)path, (void)interface, (void)property, (void)data, (void)error;
    return sd_bus_message_append(reply, "s", "Playing");
}

static const sd_bus_vtable table[] = {
    SD_BUS_VTABLE_START(0),
    SD_BUS_PROPERTY("PlaybackStatus", "s", status, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
    SD_BUS_VTABLE_END,
};

int main(void) {
    sd_bus *bus = NULL;
    if (sd_bus_open_user(&bus) < 0) return 1;
    if (sd_bus_add_object_vtable(
            bus, NULL, "/org/mpris/MediaPlayer2", "org.mpris.MediaPlayer2.Player", table, NULL) < 0) return 1;
    if (sd_bus_request_name(bus, "org.mpris.MediaPlayer2.bench", 0) < 0) return 1;
    puts("ready");
    fflush(stdout);
    for (;;) {
        int done = sd_bus_process(bus, NULL);
        if (done < 0) return 0;
        if (done == 0 && sd_bus_wait(bus, UINT64_MAX) < 0) return 0;
    }
}
