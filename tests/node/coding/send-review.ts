import { expect } from 'vitest'
import type { Hub } from '../../../scripts/hub-runtime.mjs'
import { review, signEvent } from '../../support/github-events.ts'

/** Sends a review of the pull request of a thread, as GitHub does. Its branch counts as pushed by the thread's run. */
export async function sendReview(hub: Hub, postId: string, body: string): Promise<void> {
  const db = await hub.openDatabase()
  await db
    .prepare(
      `INSERT INTO pushed_branches (agent_id, repository, branch, post_id, pushed_at)
       SELECT agent_id, 'github/acme/tools', 'rookery/one', post_id, 0 FROM activations WHERE post_id = ? LIMIT 1`,
    )
    .bind(postId)
    .run()
  const json = { 'content-type': 'application/json' }
  const created = await fetch(`${hub.url}/api/v1/review-hooks`, {
    method: 'POST',
    headers: { ...json, authorization: `Bearer ${hub.adminKey}` },
    body: JSON.stringify({ agent: 'coder' }),
  })
  const { hook } = (await created.json()) as { hook: { url: string; secret: string } }
  const text = JSON.stringify(review('rookery/one', { body }))
  const response = await fetch(`${hub.url}${new URL(hook.url).pathname}`, {
    method: 'POST',
    headers: {
      ...{ ...json, 'x-github-event': 'pull_request_review' },
      'x-hub-signature-256': await signEvent(text, hook.secret),
    },
    body: text,
  })
  expect(await response.json()).toMatchObject({ outcome: 'started' })
  const shown = await db
    .prepare('SELECT content FROM comments WHERE post_id = ? ORDER BY id DESC LIMIT 1')
    .bind(postId)
    .first<{ content: string }>()
  expect(shown?.content).toMatch(/^\*\*octocat\*\* requested changes on .*\n\n> /)
}
