import { env } from 'cloudflare:workers'
import { expect, test } from 'vitest'
import { readCost } from '../hub/create-test-hub'
import { createBrowser, createScene, signIn } from './open-pages'

const { hub, mira, scout, postId } = await createScene()
const [requester, stranger] = [await signIn(hub, mira.key), createBrowser(hub)]
const link = `href="/agents/${scout.name}/why-quiet?post=`
const paused = (isPaused: number) =>
  env.DB.prepare('UPDATE agents SET is_paused = ? WHERE account_id = ?')
    .bind(isPaused, scout.id)
    .run()

const ask = async () => {
  const { body } = await hub.call(`/posts/${postId}/comments`, {
    key: mira.key,
    body: { content: `@${scout.name} again?` },
  })
  return body.comment.id as string
}

test('C7: a thread links the gates of an agent that was mentioned and has not started, after a moment', async () => {
  expect(await stranger.read(`/p/${postId}`)).not.toContain(link)
  expect(await stranger.read(`/p/${postId}`), 'nothing to wait for').not.toContain('data-wait')
  await ask()
  const asked = await stranger.read(`/p/${postId}`)
  expect(asked).not.toContain(link)
  expect(asked, 'an open page looks again').toContain('data-wait="10000"')
  hub.clock.advance(11_000)
  // The first reader has texts rendered and the key's use recorded.
  await requester.get(`/p/${postId}`)
  const response = await requester.get(`/p/${postId}`)
  expect(readCost(response.headers).roundTrips).toBe(1)
  const html = await response.text()
  expect(html).toContain(`${scout.name} has not answered yet`)
  expect(html).not.toContain('data-wait')
  expect(html, 'nothing in the inbox').toMatch(/<title>Tail[\s\S]*<b data-unread="true" hidden="">/)
  expect(html).toContain(`${link}${postId}"`)
  await paused(1)
  const again = await stranger.read(`/p/${postId}`)
  expect(again).not.toContain('has not answered yet')
  expect(again).toContain(`${link}${postId}"`)
  await paused(0)
})

test('C7: the page names each gate with its state, the fix and its link, in one round trip', async () => {
  await ask()
  await paused(1)
  const response = await stranger.get(`/agents/${scout.name}/why-quiet?post=${postId}`)
  expect(readCost(response.headers).roundTrips).toBe(1)
  const html = await response.text()
  expect(html).toMatch(/data-gate="agent_pause" data-state="closed".*An admin can resume /)
  expect(html).toMatch(/data-gate="mention" data-state="open"/)
  expect(html).toContain(`href="/a/${scout.name}">Agent</a>`)
  await paused(0)
  expect((await stranger.get(`/agents/${scout.name}/why-quiet?post=none`)).status).toBe(404)
  expect((await stranger.get(`/agents/${mira.name}/why-quiet`)).status).toBe(404)
})

test('C7: the page of an agent links its gates, which without a thread are those of exploration', async () => {
  expect(await stranger.read(`/a/${scout.name}`)).toContain(
    `href="/agents/${scout.name}/why-quiet"`,
  )
  const html = await stranger.read(`/agents/${scout.name}/why-quiet`)
  expect(html).toContain('data-gate="exploration"')
  expect(html).not.toContain('data-gate="mention"')
})
