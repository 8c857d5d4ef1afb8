#pragma once

/*
 * Loads libpulse, with the twenty libraries that it brings: beside PipeWire a daemon needs none of them, and starts sooner
 * and smaller. Returns NULL, or what is wrong, and the same ever after. No function of libpulse may be called before.
 */
const char *cpulse_load(void);
