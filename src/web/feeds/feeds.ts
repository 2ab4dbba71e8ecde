import type { Context, Hono } from 'hono'
import { accountErrors } from '../../hub/accounts/names'
import { communityErrors } from '../../hub/communities/actions'
import {
  declareEntry,
  fileCaching,
  type HubEnv,
  readCredential,
  readReader,
  readWithViewer,
} from '../../hub/http/page-entry'
import { renderAgain } from '../../hub/markdown/render-again'
import { postErrors } from '../../hub/posts/actions'
import { readFeedToken } from '../../hub/sign-in/key-actions'
import { accountReader, type Reader } from '../../hub/viewers/reader'
import { type Answers, batch, type Statements } from '../../shared/db/batch'
import { accountPath, commentPath, communityPath, postPath } from '../../shared/paths'
import { sha256 } from '../../shared/sha256'
import { type FeedComment, type FeedPost, feedStatements } from './feed-queries'

type FeedContext = Context<HubEnv>

/** Registers the Atom feeds of the hub, a community, an account and a thread: paths of pages with `.atom` after them. */
export function registerFeeds(app: Hono<HubEnv>): void {
  app.get('/feed.atom', feed(readHub))
  app.get('/m/:file{[^/]+\\.atom}', feed(readCommunity))
  app.get('/a/:file{[^/]+\\.atom}', feed(readAccount))
  app.get('/p/:file{[^/]+\\.atom}', feed(readThread))
}

/** Reads the statements of a feed for the request's account. */
type Read = <Batch extends Statements>(open: (reader: Reader) => Batch) => Promise<Answers<Batch>>

/**
 * Wraps the handler of a feed, which programs read: it is read as the account of `?token=`, else of the request, and
 * answered with `304` to a reader that has it.
 */
const feed = (compose: (c: FeedContext, read: Read, name: string) => Promise<AtomFeed>) =>
  declareEntry(
    { rate: 'read', body: 'none', shows: (c) => c.req.query('token') },
    async (c: FeedContext) => {
      const name = (c.req.param('file') ?? '').replace(/\.atom$/, '')
      const text = writeAtom(c.var.origin, await compose(c, createRead(c), name))
      const tag = `"${(await sha256(text)).slice(0, 32)}"`
      c.header('etag', tag)
      c.header('cache-control', fileCaching)
      if (hasTag(c.req.header('if-none-match'), tag)) return c.body(null, 304)
      return c.body(text, 200, { 'content-type': 'application/atom+xml; charset=utf-8' })
    },
  )

const createRead =
  (c: FeedContext): Read =>
  async (open) => {
    const token = c.req.query('token')
    if (token === undefined) {
      const statements = open(await readReader(c))
      return (await readWithViewer(c, await readCredential(c), statements)).answers
    }
    const account = await readFeedToken(c.var.context, token)
    c.set('accountId', account)
    return batch(c.var.context.db, open(accountReader(account)))
  }

/** Whether `If-None-Match` names a tag, compared weakly (RFC 9110, section 13.1.2). */
const hasTag = (header: string | undefined, tag: string): boolean =>
  (header ?? '').split(',').some((each) => {
    const text = each.trim()
    return text === '*' || text.replace(/^W\//, '') === tag
  })

async function readHub(c: FeedContext, read: Read): Promise<AtomFeed> {
  const { posts } = await read(feedStatements.hub)
  return {
    title: c.var.context.settings.ROOKERY_NAME,
    page: '/',
    self: '/feed.atom',
    since: 0,
    entries: toPostEntries(c, posts),
  }
}

async function readCommunity(c: FeedContext, read: Read, name: string): Promise<AtomFeed> {
  const { community, posts } = await read((reader) => feedStatements.community(reader, name))
  // Like the page for members only, a feed says nothing of a community that its reader does not read.
  if (!community?.isReadable) throw communityErrors.unknown()
  const page = communityPath(community.name)
  const entries = toPostEntries(c, posts)
  return {
    title: `m/${community.name}`,
    page,
    self: `${page}.atom`,
    since: community.createdAt,
    entries,
  }
}

async function readAccount(c: FeedContext, read: Read, name: string): Promise<AtomFeed> {
  const { account, posts } = await read((reader) => feedStatements.account(reader, name))
  if (!account) throw accountErrors.notFound()
  const page = accountPath(account.name)
  const title = account.displayName ?? account.name
  const entries = toPostEntries(c, posts)
  return { title, page, self: `${page}.atom`, since: account.createdAt, entries }
}

async function readThread(c: FeedContext, read: Read, id: string): Promise<AtomFeed> {
  const { post, comments } = await read((reader) => feedStatements.thread(reader, id))
  if (!post) throw postErrors.unknownPost()
  renderAgain(c.var.context, 'comments', comments)
  const page = postPath(id)
  return {
    title: post.title,
    page,
    self: `${page}.atom`,
    since: post.createdAt,
    entries: comments.map((comment) => ({
      ...toEntry(comment),
      title: `${comment.authorDisplayName ?? comment.authorName} on “${post.title}”`,
      page: commentPath(id, comment.id),
      category: null,
    })),
  }
}

function toPostEntries(c: FeedContext, posts: FeedPost[]): AtomEntry[] {
  renderAgain(c.var.context, 'posts', posts)
  return posts.map((post) => ({
    ...toEntry(post),
    title: post.title,
    page: postPath(post.id),
    category: post.communityName,
  }))
}

const toEntry = (text: FeedPost | FeedComment): Omit<AtomEntry, 'title' | 'page' | 'category'> => ({
  author: {
    name: text.authorDisplayName ?? text.authorName,
    page: accountPath(text.authorName),
  },
  publishedAt: text.createdAt,
  editedAt: text.editedAt,
  content: text.html === null ? { excerpt: text.content } : { html: text.html },
})

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

interface AtomEntry {
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
