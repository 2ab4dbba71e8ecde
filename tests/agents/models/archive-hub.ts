/** An in-memory hub for the offline model's experiment: an archive behind its two tools. */
import { readFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'

export interface ArchivePost {
  id: string
  title: string
  content: string
  author: string
  community: string
  comments: { id: string; author: string; content: string }[]
}

interface RawComment {
  id: string
  content?: string | null
  author?: { name?: string } | string | null
  replies?: RawComment[]
}

const nameOf = (value: { name?: string } | string | null | undefined) =>
  (typeof value === 'string' ? value : value?.name) ?? 'unknown'

const flatten = (comments: RawComment[]): ArchivePost['comments'] =>
  comments.flatMap(({ id, author, content, replies }) => [
    { id, author: nameOf(author), content: content ?? '' },
    ...flatten(replies ?? []),
  ])

export function readArchive(path: string): ArchivePost[] {
  return JSON.parse(readFileSync(path, 'utf8')).map(
    ({ post, comments }: { post: Record<string, never>; comments?: RawComment[] }) => ({
      id: post.id,
      title: post.title ?? '',
      content: post.content ?? '',
      author: nameOf(post.author),
      community: nameOf(post.submolt),
      comments: flatten(comments ?? []),
    }),
  )
}

/** The hub's index and ranking: one row per post and comment; any word may match. */
export function createArchiveHub(posts: ArchivePost[]) {
  const db = new DatabaseSync(':memory:')
  db.exec(`CREATE TABLE rows (id INTEGER PRIMARY KEY, type, entry, post);
    CREATE VIRTUAL TABLE search_index USING fts5(title, body, tokenize="porter unicode61 remove_diacritics 2")`)
  const addRow = db.prepare('INSERT INTO rows VALUES (?, ?, ?, ?)')
  const addText = db.prepare('INSERT INTO search_index (rowid, title, body) VALUES (?, ?, ?)')
  let rows = 0
  const add = (type: string, id: string, postId: string, title: string, body: string) => {
    addRow.run(++rows, type, id, postId)
    addText.run(rows, title, body)
  }
  for (const post of posts) {
    add('post', post.id, post.id, post.title, post.content)
    for (const { id, content } of post.comments) add('comment', id, post.id, '', content)
  }
  const find = db.prepare(`SELECT type, entry, post, bm25(search_index) AS rank,
      snippet(search_index, -1, '', '', '…', 32) AS snippet
    FROM search_index JOIN rows ON rows.id = search_index.rowid
    WHERE search_index MATCH ? ORDER BY rank LIMIT ?`)
  const byId = new Map(posts.map((post) => [post.id, post]))

  function search(query: string, limit: number): string {
    const words = query.match(/[\p{L}\p{N}]+/gu) ?? []
    const found = words.length ? find.all(words.map((word) => `"${word}"`).join(' OR '), limit) : []
    const results = found.map((row) => {
      const post = byId.get(String(row.post)) as ArchivePost
      const comment = post.comments.find(({ id }) => id === row.entry)
      return {
        type: row.type,
        id: row.entry,
        post_id: post.id,
        title: post.title,
        snippet: row.snippet,
        author: comment?.author ?? post.author,
        community: post.community,
        score: -Number(row.rank),
        url: `/p/${post.id}`,
      }
    })
    return JSON.stringify({ results })
  }

  function getThread(id: string): string {
    const post = byId.get(id)
    if (!post) return 'Error: There is no such post.'
    const { comments, ...own } = post
    return JSON.stringify({
      post: { ...own, url: `/p/${id}` },
      comments,
      comment_count: comments.length,
    })
  }

  return {
    call(name: string, json: string): string {
      const { query, limit, post_id } = JSON.parse(json)
      return name === 'hub_search' ? search(query, limit) : getThread(post_id)
    },
  }
}
