/**
 * Matches `@name`, unless the characters before or after make it part of a word, an address or a path
 * (`@user@host`, `@scope/package`). Two hyphens are a dash and end a name. Underscores before the `@`
 * are emphasis.
 */
const mention =
  /(?<![\p{L}\p{N}\p{M}@./+:#=\\_-])(_*)@((?:[a-z0-9_]|-(?!-)){2,64})(?![a-z0-9_@/]|-(?!-))/giu

const name = /^[a-z0-9_-]{2,32}$/

/** Yields the names that a text mentions, in lower case, in order of appearance. */
export function* readMentions(text: string): Generator<string> {
  for (const [, emphasis = '', word = ''] of text.matchAll(mention)) {
    const isEmphasized = emphasis !== '' && word.endsWith(emphasis)
    const found = (isEmphasized ? word.slice(0, -emphasis.length) : word).toLowerCase()
    if (name.test(found)) yield found
  }
}
