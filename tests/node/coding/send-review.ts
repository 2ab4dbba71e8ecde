import { expect } from 'vitest'
import type { Hub } from '../../../scripts/hub-runtime.mjs'
import { newEventId, person, pullOf, review, signEvent } from '../../support/github-events.ts'

type ReviewedHub = Pick<Hub, 'url' | 'adminKey' | 'openDatabase'>

/**
 * Sends a review of a branch and its comment on a line to a new trigger of an agent, as GitHub does, and again when it
 * is complete. A test does not wait until it is: it moves the time at which the review arrived.
 */
export async function sendReview(
  hub: ReviewedHub,
  agent: string,
  branch: string,
  body: string,
): Promise<void> {
  const json = { 'content-type': 'application/json' }
  const created = await fetch(`${hub.url}/api/v1/triggers`, {
    method: 'POST',
    headers: { ...json, authorization: `Bearer ${hub.adminKey}` },
    body: JSON.stringify({ agent, takes_reviews: true, verify: 'github' }),
  })
  const { trigger } = (await created.json()) as { trigger: { url: string; secret: string } }
  const whole = review(branch, { body })
  const line = { path: 'src/dates.ts', line: 29, body: 'Off by one.', ...person() }
  const comment = { id: newEventId(), pull_request_review_id: whole.review.id, ...line }
  const { repository } = whole
  const lined = { action: 'created', repository, pull_request: pullOf(branch), comment }
  const send = async (event: string, payload: object): Promise<number> => {
    const text = JSON.stringify(payload)
    const response = await fetch(`${hub.url}${new URL(trigger.url).pathname}`, {
      method: 'POST',
      headers: {
        ...json,
        'x-github-event': event,
        'x-hub-signature-256': await signEvent(text, trigger.secret),
      },
      body: text,
    })
    return response.status
  }
  const sendAll = () =>
    Promise.all([send('pull_request_review_comment', lined), send('pull_request_review', whole)])
  expect(await sendAll()).toEqual([202, 202])
  const db = await hub.openDatabase()
  await db.prepare('UPDATE received_reviews SET created_at = created_at - 60000').run()
  expect(await sendAll()).toEqual([200, 200])
}

/** Lets a branch count as pushed by the run of a thread. Returns it. */
export async function recordBranch(hub: ReviewedHub, postId: string): Promise<string> {
  const branch = 'rookery/one'
  const db = await hub.openDatabase()
  await db
    .prepare(
      `INSERT INTO pushed_branches (agent_id, repository, branch, post_id, pushed_at)
       SELECT agent_id, 'github/acme/tools', ?, post_id, 0 FROM activations WHERE post_id = ? LIMIT 1`,
    )
    .bind(branch, postId)
    .run()
  return branch
}

/** Expects one comment of the hub in the thread, with the whole review, and an answer after it. */
export function expectReview(comments: readonly { content: string }[]): void {
  const shown = comments.filter(({ content }) => content.startsWith('**octocat**'))
  expect(shown).toEqual([
    {
      content: expect.stringMatching(
        /^\*\*octocat\*\* requested changes on .*\n\n> .*\n\n`src\/dates\.ts:29`:\n\n> Off by one\.$/,
      ),
    },
  ])
  expect(comments.at(-1)?.content).toContain('@admin')
}
