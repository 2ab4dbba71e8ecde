import { expect, test } from 'vitest'
import type { CommentId } from '../../src/shared/ids'
import { adminKey, readCost } from '../hub/create-test-hub'
import { createOffice, usageOf } from '../hub/runs/create-office'
import { createBrowser, signIn } from './open-pages'

const office = createOffice()
const { hub, post, start, commit, run } = office
const scout = await office.createAgent('scout')
const mira = await hub.join('mira', 'human')
const admin = await signIn(hub)
const member = await signIn(hub, mira.key)
const card = 'First steps'

test('muted communities are folded away, in the list and beside the feed, and the form offers none where only the hub posts', async () => {
  const home = await member.read('/')
  const list = await member.read('/m')
  for (const html of [home, list]) {
    const [before = '', folded = ''] = html.split(
      '<details class="up2"><summary class="meta">Muted: 4<',
    )
    const shown = before.slice(before.lastIndexOf('<ul class="list'))
    expect(shown).toContain('href="/m/general"')
    expect(shown).not.toContain('agent-')
    const rows = [...(folded.split('</details>')[0] ?? '').matchAll(/href="\/m\/([^"]+)"/g)]
    expect(rows.map(([, name]) => name)).toEqual([
      'agent-activity',
      'agent-errors',
      'agent-learnings',
      'agent-status',
    ])
  }
  const options = [...home.matchAll(/<option value="([^"]+)"/g)].map(([, name]) => name)
  expect(options).toContain('general')
  expect(options).toContain('agent-learnings')
  expect(options).not.toContain('agent-status')
})

test('an empty community asks for the first post only where people can post', async () => {
  const asks = async (name: string) => {
    const html = await member.read(`/m/${name}`)
    expect(html, name).toContain('No posts yet.')
    return html.includes('Write the first post')
  }
  expect(await asks('general')).toBe(true)
  for (const name of ['agent-errors', 'agent-status', 'agent-activity']) {
    expect(await asks(name), name).toBe(false)
  }
})

test('an admin has four first steps, ticked as the hub knows of them, and nobody else has', async () => {
  const ticks = async () => {
    const html = await admin.read('/')
    const steps = html.slice(html.indexOf(card)).split('</form>')[0] ?? ''
    return [...steps.matchAll(/<a href="([^"]+)">[^<]+<\/a>(<span class="vh"> \(done\))?/g)].map(
      ([, href, done]) => [href?.replaceAll('&amp;', '&'), done !== undefined],
    )
  }
  const ask = '/posts-new?ask=scout&question=model'
  expect(await ticks()).toEqual([
    [ask, false],
    ['/models', false],
    ['/agents/new', false],
    ['/admin/people#invite', false],
  ])
  const { activationId } = await post(mira.key, '@scout hello').then(() => start(scout.id))
  await commit(scout.id, activationId, {})
  await office.createAgent('wren')
  const invited = await hub.call('/invitations', { key: adminKey, body: { role: 'member' } })
  expect(invited.status).toBe(201)
  expect((await ticks()).map(([, isDone]) => isDone)).toEqual([true, false, true, true])
  expect(await admin.read('/')).toContain('3 of 4 done')
  for (const browser of [member, createBrowser(hub)]) {
    expect(await browser.read('/')).not.toContain(card)
  }
})

test('the first steps cost no round trip, are gone in a browser that dismissed them, and when all are done', async () => {
  for (const browser of [admin, member]) {
    expect(readCost((await browser.get('/')).headers).roundTrips).toBe(1)
  }
  const dismissed = await admin.send('/first-steps', {})
  expect(dismissed.headers.get('location')).toBe('/')
  const cookie = dismissed.headers.get('set-cookie')?.split(';')[0] ?? ''
  expect(await createBrowser(hub, `${admin.cookie}; ${cookie}`).read('/')).not.toContain(card)
  expect(await admin.read('/')).toContain(card)
  await run(
    "INSERT INTO model_providers (provider, updated_at, updated_by) VALUES ('anthropic', 1, 'admin')",
  )
  expect(await admin.read('/')).not.toContain(card)
})

test('who has just joined lands on the feed, and reads how to come back', async () => {
  const notice = `You have joined as ${mira.name}.`
  expect(await member.read('/?joined')).toContain(notice)
  expect(await member.read('/')).not.toContain(notice)
  expect(await createBrowser(hub).read('/?joined')).not.toContain('You have joined')
})

test('the form of a key says when the key expires, before it is made', async () => {
  expect(await admin.read('/settings/keys')).toMatch(
    /Without a day, the key expires on \d+\s\w+(\s\d{4})?, when this session ends\./,
  )
  const byKey = await hub.fetch('/settings/keys', {
    headers: { authorization: `Bearer ${adminKey}`, accept: 'text/html' },
  })
  expect(await byKey.text()).toContain('Without a day, the key does not expire.')
})

test('a run of the offline model is free: neither its thread, its page, the list of runs nor budgets show tokens as a cost', async () => {
  const postId = await post(mira.key, '@scout what is new?')
  const { activationId } = await start(scout.id)
  const reply = { id: office.newId<CommentId>(), postId, parentId: null, content: 'Nothing is.' }
  await commit(scout.id, activationId, { reply, usage: [usageOf(0, 1234)] })
  await run("UPDATE activations SET model = 'offline/extractive' WHERE id = ?", activationId)
  await run('UPDATE usage_days SET cost_microusd = 0, unpriced_calls = 0, unpriced_tokens = 0')
  expect(await member.read('/budgets')).toContain('Nothing was spent.')
  expect(await member.read('/budgets?in=tokens'), 'on request').toContain('1,237')
  const runPath = `/activations/${activationId}`
  for (const path of [`/p/${postId}`, runPath, '/runs']) {
    const html = await member.read(path)
    expect([path, html.includes('offline model')]).toEqual([path, true])
    expect([path, html.includes('1,234')]).toEqual([path, false])
  }
  await run("UPDATE activations SET model = 'anthropic/some' WHERE id = ?", activationId)
  for (const path of [runPath, '/runs']) expect(await member.read(path)).toContain('1,234')
})
