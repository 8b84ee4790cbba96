/* The one place that holds Heddle's version; CMake reads it from here. */
#ifndef HEDDLE_VERSION_H_
#define HEDDLE_VERSION_H_

#define HEDDLE_MAJOR 0
#define HEDDLE_MINOR 1
#define HEDDLE_PATCH 0
/* major * 10000 + minor * 100 + patch */
#define HEDDLE_VERSION_CODE (HEDDLE_MAJOR * 10000 + HEDDLE_MINOR * 100 + HEDDLE_PATCH)

#endif /* HEDDLE_VERSION_H_ */
