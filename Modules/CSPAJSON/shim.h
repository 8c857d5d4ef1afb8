#pragma once
#include <spa/utils/json.h>
