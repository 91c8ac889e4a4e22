/* The input is a request for a step, in the form that srun sends. */
#include <assert.h>
#include <stdlib.h>

#include "libcommon/step_msg.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data, *at, *end;
	struct step_request req;
	struct buf name = { 0 };

	if (step_request_parse(text, size, &req, NULL) < 0)
		return 0;
	assert(req.tasks >= 1 && req.tasks <= STEP_TASKS_MAX && req.argc >= 1);
	for (int i = 0; i < 3; i++)
		step_file_expand(req.file[i], 1, 2, 3, &name);
	at = req.texts;
	end = at + req.texts_len;
	assert(end == text + size);
	while (step_next_text(&at, end))
		assert(at <= end);
	buf_free(&name);
	return 0;
}
