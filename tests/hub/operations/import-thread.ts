import { env } from 'cloudflare:workers'
import { expect } from 'vitest'
import { adminKey, type createTestHub } from '../create-test-hub'

/** A comment with its replies, in the order of their texts. */
export type Tree = [string, ...Tree[]]

interface Comment {
  content: string
  replies: Comment[]
}

/** Returns what is reported, as lines. */
export const reasonsOf = (list: { id: string | null; reason: string }[]): string[] =>
  list.map(({ id, reason }) => `${id}: ${reason}`)

/** Returns a comment of an archive with a flat list. */
export const comment = (id: unknown, parent_id?: unknown, more: object = {}) => ({
  id,
  parent_id,
  content: `c${id}`,
  author: 'ann',
  ...more,
})

/** Imports into a hub, and reads what came out. */
export function createImporter(hub: ReturnType<typeof createTestHub>) {
  /** @param body records, or the text of a request */
  const send = (body: unknown) => hub.call('/import', { key: adminKey, body })
  const readTree = async (title: string): Promise<Tree[]> => {
    const id = await env.DB.prepare('SELECT id FROM posts WHERE title = ?').bind(title).first('id')
    const { body } = await hub.call(`/posts/${id}?include_comments=true&limit=500`)
    const toTree = (list: Comment[]): Tree[] =>
      list.map(({ content, replies }): Tree => [content, ...toTree(replies)]).sort()
    return toTree(body.comments)
  }
  let numbers = 0
  /** Imports a post with comments; returns its comments as a tree, and the report. */
  const importThread = async (comments: unknown[], post: object = {}) => {
    const title = `Thread ${++numbers}`
    const record = { post: { id: title, title, author: 'ann', ...post }, comments }
    const { status, body } = await send([record])
    expect(status, JSON.stringify(body)).toBe(200)
    return { title, body, tree: await readTree(title) }
  }
  return { send, readTree, importThread }
}
