/* words.c - split a line into words as a shell does */
#include "aictl/words.h"

#include <stdlib.h>

#include "aictl/aictl.h"
#include "libcommon/buf.h"
#include "libcommon/mem.h"

static void add_word(struct words *words, char *word)
{
	words->word = GROW(words->word, words->n + 1, &words->cap);
	words->word[words->n++] = word;
	words->word[words->n] = NULL;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* Append the text in quotes that begins at s. Returns a pointer behind it, or
 * NULL if the quote has no end. */
static const char *take_quoted(struct buf *word, const char *s)
{
	char quote = *s++;

	for (; *s && *s != quote; s++) {
		if (quote == '"' && *s == '\\' && s[1])
			s++;
		buf_addc(word, *s);
	}
	return *s ? s + 1 : NULL;
}

/* Append the word that begins at s. Returns a pointer behind it, or NULL if a
 * quote has no end. */
static const char *take_word(struct buf *word, const char *s)
{
	buf_puts(word, ""); /* so that '' gives an empty word, not NULL */
	while (s && *s && !is_blank(*s)) {
		if (*s == '\'' || *s == '"') {
			s = take_quoted(word, s);
			continue;
		}
		if (*s == '\\' && s[1])
			s++;
		buf_addc(word, *s++);
	}
	return s;
}

int words_split(struct words *ret, const char *line, struct err *err)
{
	struct words words = { 0 };
	struct buf word = { 0 };

	for (const char *s = line;;) {
		while (is_blank(*s))
			s++;
		if (!*s || *s == '#')
			break;
		s = take_word(&word, s);
		if (!s) {
			buf_free(&word);
			words_free(&words);
			return err_set(err, EINVAL, "a quote has no end");
		}
		add_word(&words, buf_take(&word));
	}
	*ret = words;
	return 0;
}

void words_free(struct words *words)
{
	for (size_t i = 0; i < words->n; i++)
		free(words->word[i]);
	free(words->word);
	*words = (struct words){ 0 };
}
