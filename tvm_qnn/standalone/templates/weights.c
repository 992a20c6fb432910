/* The constants of the model ${prefix}. */
%if has_special
#include <math.h>
%end has_special
#include <stdint.h>

%include constants.h

${arrays}