/** Limits of texts that are stored with their HTML, and of pages that show many of them. */
export const renderedTexts = {
  /** Length of one text's HTML. A text that would be longer is stored as plain text. */
  htmlCharsMax: 256 * 1024,
  /** Comments of a page, and the length of all their HTML; beyond it a page shows excerpts. */
  commentsPerPage: 50,
  pageHtmlCharsMax: 1024 * 1024,
  excerptCharsMax: 1_000,
  /** Comments after the linked one on the page of a link to a comment. */
  commentsAfterLinked: 24,
  /** Texts, and their length, that are rendered again after a page has shown them. */
  renderedAgainMax: 10,
  renderedAgainCharsMax: 100_000,
} as const
