/** A feed as RFC 4287 (Atom) has it. Paths are of this hub; times in milliseconds since the Unix epoch. */
export interface AtomFeed {
  title: string
  /** Path of the page that shows the same. */
  page: string
  /** Path of the feed itself, without its token. */
  self: string
  /** When what the feed is of began: the time of a feed without entries. */
  since: number
  entries: AtomEntry[]
}

export interface AtomEntry {
  title: string
  /** Path of the page that shows it, which is also its id. */
  page: string
  author: { name: string; page: string }
  publishedAt: number
  editedAt: number | null
  /** A community's name; null in a thread. */
  category: string | null
  /** Safe HTML, or the beginning of a text. */
  content: { html: string } | { excerpt: string }
}

/**
 * Writes a feed. Its ids are the addresses of pages, which never change their meaning, and links within a text are
 * relative to the hub, as `xml:base` says.
 *
 * @param origin of the hub, such as `https://hub.example.com`
 */
export function writeAtom(origin: string, feed: AtomFeed): string {
  const times = feed.entries.map(toUpdatedAt)
  const link = (rel: string, path: string, type: string) =>
    `<link rel="${rel}" type="${type}" href="${toXml(origin + path)}"/>`
  return [
    '<?xml version="1.0" encoding="utf-8"?>',
    `<feed xmlns="http://www.w3.org/2005/Atom" xml:base="${toXml(`${origin}/`)}">`,
    `<id>${toXml(origin + feed.page)}</id>`,
    element('title', feed.title),
    time('updated', Math.max(feed.since, ...times)),
    link('alternate', feed.page, 'text/html'),
    link('self', feed.self, 'application/atom+xml'),
    ...feed.entries.flatMap((entry) => [
      '<entry>',
      `<id>${toXml(origin + entry.page)}</id>`,
      element('title', entry.title),
      time('published', entry.publishedAt),
      time('updated', toUpdatedAt(entry)),
      `<author>${element('name', entry.author.name)}<uri>${toXml(origin + entry.author.page)}</uri></author>`,
      link('alternate', entry.page, 'text/html'),
      ...(entry.category === null ? [] : [`<category term="${toXml(entry.category)}"/>`]),
      'html' in entry.content
        ? `<content type="html">${toXml(entry.content.html)}</content>`
        : `<summary type="text">${toXml(entry.content.excerpt)}</summary>`,
      '</entry>',
    ]),
    '</feed>',
    '',
  ].join('\n')
}

const toUpdatedAt = ({ editedAt, publishedAt }: AtomEntry): number => editedAt ?? publishedAt

const element = (name: string, text: string): string => `<${name}>${toXml(text)}</${name}>`

const time = (name: string, at: number): string => element(name, new Date(at).toISOString())

const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }

/** Escapes a text, and leaves out what XML 1.0 (section 2.2) cannot contain at all. */
const toXml = (text: string): string =>
  text
    .toWellFormed()
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is removed
    .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, '')
    .replace(/[&<>"]/g, (character) => entities[character] ?? '')
