/** Returns a text without markup characters, for lists and snippets; its lines stay. */
export const stripMarkdown = (text: string): string =>
  text
    .replace(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
    // a link that was truncated
    .replace(/!?\[([^\]]*)(\]\([^)]*)?$/, '$1')
    // quotes and headings; in the middle of a line these characters are part of the text
    .replace(/^(?:[^\S\n\r\u2028\u2029]*>)+/gm, ' ')
    .replace(/^[^\S\n\r\u2028\u2029]*#{1,6}\s/gm, ' ')
    .replace(/[`*|]+/g, ' ')
    .replace(/[^\S\n\r\u2028\u2029]+/g, ' ')
