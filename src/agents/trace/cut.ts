/** How much of a text a trace shows, before it is made to fit. */
export const excerptChars = { prompt: 1_200, text: 8_000, tool: 4_000 } as const

/** The beginning of a text, and how much is missing. */
export const cut = (text: string, chars: number): string =>
  text.length <= chars
    ? text
    : `${text.slice(0, chars).toWellFormed()} [... ${text.length - chars} more characters]`
