import { env } from 'cloudflare:workers'
import { beforeEach, describe, expect, test } from 'vitest'
import { adminKey } from '../create-test-hub'
import { createOffice, usageOf } from '../runs/create-office'
import { asking, createParking } from '../runs/create-parking'
import { createReceiver } from './create-receiver'

const office = createOffice()
const { hub } = office
const { received, state, newMember, create, readOutbox } = createReceiver(hub)
const olga = await newMember('olga')
const root = await newMember('root', 'admin')
const scout = await office.createAgent('scout')
const parking = createParking(office, () => scout.id)

beforeEach(async () => {
  await office.clear()
  hub.clock.advance(1)
})

/** What deferred work sends arrives a little later. */
const waitFor = async (count: number) => {
  for (let n = 0; n < 200 && received.length < count; n++) {
    await new Promise((go) => setTimeout(go, 5))
  }
  return received.map(({ body }) => body)
}

describe('O1: a webhook is sent', () => {
  test('the end of a run, its reply and the mentions in it, once', async () => {
    await create(olga, { events: ['run.finished', 'comment.created', 'mention.created'] })
    const postId = await office.post(olga.key, '@scout what is new?')
    const { activationId } = await office.start(scout.id)
    received.length = 0
    const id = office.newId<never>()
    const reply = { postId, parentId: null, id, content: `@${olga.name} nothing` }
    const request = office.composeCommit(scout.id, activationId, {
      reply: { ...reply, requesters: [olga.name], addressed: [olga.name] },
      usage: [usageOf(30, 3)],
    })
    await office.hubApi.commit(request)
    await office.hubApi.commit(request)
    const bodies = await waitFor(3)
    expect(bodies.map(({ type }) => type).sort()).toEqual([
      'comment.created',
      'mention.created',
      'run.finished',
    ])
    expect(bodies.find(({ type }) => type === 'run.finished')).toMatchObject({
      data: {
        run: { id: activationId, agent: { name: 'scout' }, outcome: 'completed', task: 'mention' },
        post: { id: postId },
        community: { name: 'general' },
        url: `http://hub.test/activations/${activationId}`,
      },
    })
    expect(bodies.find(({ type }) => type === 'run.finished').data.run.cost_microusd).toBe(30)
    expect((await readOutbox()).filter((each) => each.event === 'run.finished')).toHaveLength(1)
  })

  test('no run that answers a direct message', async () => {
    await create(root, { community: undefined, events: ['run.finished'] })
    await hub.call('/conversations', { key: olga.key, body: { to: 'scout', content: 'Psst' } })
    const { activationId } = await office.start(scout.id)
    await office.commit(scout.id, activationId)
    expect((await office.activation(activationId))?.task).toBe('dm')
    expect(await readOutbox()).toEqual([])
  })

  test('a call that requires approval: for admins alone, without its arguments', async () => {
    await create(root, { community: undefined, events: ['approval.requested'] })
    await create(olga, { events: ['approval.requested'] })
    await office.post(olga.key, '@scout write it')
    const activationId = await parking.parkTask({ approvals: [asking()] })
    const [body, more] = await waitFor(1)
    expect(body).toMatchObject({
      type: 'approval.requested',
      data: {
        approval: { agent: { name: 'scout' }, tool: 'hub_create_post', tier: 'write' },
        url: 'http://hub.test/approvals',
      },
    })
    expect(body.data.approval.id).toContain(activationId)
    expect(JSON.stringify(body)).not.toContain('Hello')
    expect(more).toBeUndefined()
  })

  test('a call from outside that requires approval', async () => {
    await create(root, { community: undefined, events: ['approval.requested'] })
    const request = { ...asking('outside-1'), reasons: [], notice: 'n' }
    await office.hubApi.requestApproval(scout.id, request)
    expect(await waitFor(1)).toMatchObject([{ data: { approval: { tool: 'hub_create_post' } } }])
  })

  test('the posts of the hub about an outage, a failed run and failures in a row', async () => {
    await create(olga, { community: 'agent-errors', events: ['post.created'] })
    const provider = { provider: 'Near', address: 'http://near', setting: 'NEAR_URL', parks: 1 }
    await office.post(olga.key, '@scout one')
    await parking.parkTask({ approvals: [], outage: provider })
    expect((await waitFor(1)).map(({ data }) => data.post.title)).toEqual(['Near is down'])
    const endWait = () =>
      env.DB.batch([
        env.DB.prepare(`UPDATE activations SET state = 'done' WHERE state = 'parked'`),
        env.DB.prepare('DELETE FROM outage_waits'),
      ])
    await endWait()
    // an outage that goes on is no other post
    await office.post(olga.key, '@scout two')
    await parking.parkTask({ approvals: [], outage: provider })
    await endWait()
    await env.DB.prepare('UPDATE agents SET consecutive_failures = 4').run()
    await office.post(olga.key, '@scout three')
    const { activationId } = await office.start(scout.id)
    const report = { id: office.newId<never>(), title: 'scout failed', content: 'MODEL' }
    await office.commit(scout.id, activationId, { outcome: 'failed', report })
    const titles = (await waitFor(3)).map(({ data }) => data.post.title)
    expect(titles.sort()).toEqual([
      'Near is down',
      'scout failed',
      'scout failed five times in a row',
    ])
  })

  test('the level that a budget reaches, and the post about it', async () => {
    await hub.createWindows()
    await env.DB.prepare('DELETE FROM budget_levels').run()
    await office.setHubLimit(1_000)
    await create(root, { community: undefined, events: ['budget.level', 'post.created'] })
    const postId = await office.post(olga.key, '@scout spend')
    const { activationId } = await office.start(scout.id)
    await waitFor(1)
    received.length = 0
    await office.commit(scout.id, activationId, { usage: [usageOf(900, 3)] })
    const bodies = await waitFor(2)
    expect(bodies.map(({ type }) => type)).toEqual(['post.created', 'budget.level'])
    expect(bodies[0].data.post.id).not.toBe(postId)
    expect(bodies[1].data).toMatchObject({
      budget: { scope: 'hub', level: 'throttle', spent_microusd: 900, limit_microusd: 1_000 },
      url: 'http://hub.test/budgets',
    })
  })

  test('a report, for those who moderate there', async () => {
    const mira = await newMember('mira')
    await create(olga, { events: ['report.created'] })
    await create(root, { url: 'https://root.example/', events: ['report.created'] })
    const postId = await office.post(olga.key, 'Buy now')
    const { status } = await hub.call(`/posts/${postId}/report`, {
      key: mira.key,
      body: { reason: 'Spam' },
    })
    expect(status).toBe(201)
    expect(received.map(({ url }) => url)).toEqual(['https://root.example/'])
    expect(received[0]?.body).toMatchObject({
      type: 'report.created',
      data: { report: { reason: 'Spam', comment_id: null }, post: { id: postId } },
    })
    // who reported stays with the moderators
    expect(received[0]?.text).not.toContain(mira.name)
  })
})

describe('O1: formats', () => {
  const send = async (format: string, fields: object) => {
    await create(olga, { format, events: ['post.created'] })
    await hub.call('/posts', {
      key: olga.key,
      body: { community: 'general', title: 'A title', content: 'Words', ...fields },
    })
    return received[0]?.body
  }

  test('Slack: text and blocks in which nothing mentions anybody', async () => {
    const body = await send('slack', {
      title: 'Look <!channel> & | <https://evil.example|here>',
      content: `<@U123> ${'x'.repeat(10_000)}`,
    })
    const escaped = 'Look &lt;!channel&gt; &amp; | &lt;https://evil.example|here&gt;'
    expect(body.text).toBe(`${olga.name} posted in m/general: ${escaped}`)
    const [first, second] = body.blocks
    expect(first.text.type).toBe('mrkdwn')
    expect(first.text.text).toMatch(/^<http:\/\/hub\.test\/p\/[\w-]+\|[^<>]*>$/)
    expect(second.text.type).toBe('plain_text')
    expect(second.text.text).toMatch(/^<@U123> x+…$/)
    for (const { text } of body.blocks) expect(text.text.length).toBeLessThanOrEqual(3_000)
    expect(received[0]?.headers['webhook-signature']).toMatch(/^v1,/)
  })

  test('Discord: at most 2,000 characters, and no mention', async () => {
    const body = await send('discord', { content: `@everyone ${'😀'.repeat(3_000)}` })
    expect(body.content.length).toBeLessThanOrEqual(2_000)
    expect(body.content.isWellFormed()).toBe(true)
    expect(body.content).toMatch(/\n<http:\/\/hub\.test\/p\/[\w-]+>$/)
    expect(body.allowed_mentions).toEqual({ parse: [] })
  })

  test.each(['json', 'slack', 'discord'])('a test is one in %s, too', async (format) => {
    const { id } = await create(olga, { format })
    state.answer = () => new Response(null, { status: 404 })
    const { body } = await hub.call(`/webhooks/${id}/test`, { key: olga.key, body: {} })
    expect(body.delivery).toMatchObject({ status: 'failed', answer: 'It answered 404.' })
    expect(received[0]?.text).toContain('This is a test.')
    expect(await hub.call('/webhooks', { key: adminKey })).toMatchObject({ status: 200 })
  })
})
