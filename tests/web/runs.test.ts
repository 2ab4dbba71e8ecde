import { describe, expect, test } from 'vitest'
import { runLists } from '../../src/shared/config'
import { readCost } from '../hub/create-test-hub'
import { usageOf } from '../hub/runs/create-office'
import { canary, createRunScene } from './create-run-scene'
import { signIn } from './open-pages'

const { office, hub, run, keys, people, runs, call } = await createRunScene()

const open = async (who: string, path: string) => {
  const key = keys[who]
  return hub.fetch(path, key ? { headers: { authorization: `Bearer ${key}` } } : {})
}
const list = async (who: string, query = ''): Promise<string[]> =>
  (await call(who, `/activations?limit=100&${query}`)).body.activations.map(
    ({ id }: { id: string }) => id,
  )
const known = (ids: string[]): string[] =>
  Object.entries(runs).flatMap(([name, id]) => (ids.includes(id) ? [name] : []))

describe('the list of runs', () => {
  test('T12 T21: has a run exactly for whom the page of the run shows who asked for it', async () => {
    const shown: Record<string, string[]> = {}
    for (const who of Object.keys(keys)) {
      const page: string[] = []
      for (const id of Object.values(runs)) {
        const html = await (await open(who, `/activations/${id}`)).text()
        if (/asked by/.test(html)) page.push(id)
      }
      const ids = await list(who)
      expect(known(ids), who).toEqual(known(page))
      shown[who] = known(ids)
      const { body } = await call(who, '/activations/totals')
      expect([who, body.runs]).toEqual([who, ids.length])
      const csv = await (await open(who, '/runs.csv')).text()
      expect(csv.trim().split('\r\n'), who).toHaveLength(ids.length + 1)
    }
    // What the two conditions have in common, in plain words.
    const all = ['public', 'cellar', 'dm', 'manual']
    expect(shown).toMatchObject({
      stranger: ['public', 'manual'],
      bob: ['public', 'manual'],
      root: ['public', 'manual'],
      piet: ['public', 'cellar', 'manual'],
      dora: ['public', 'dm', 'manual'],
      olga: all,
      scout: all,
      otto: ['public', 'dm', 'manual'],
    })
  })

  test('T21: no filter, total or file tells others of what is private', async () => {
    for (const who of ['stranger', 'bob', 'root', 'wren']) {
      expect(known(await list(who, 'requester=olga'))).toEqual(['public', 'manual'])
      expect(await list(who, `text=${canary}`)).toEqual([])
      const { body } = await call(who, `/activations/totals?text=${canary}`)
      expect(body).toMatchObject({ runs: 0, cost_microusd: 0, tokens: 0 })
      for (const path of ['/runs', `/runs?text=${canary}`, '/runs.csv']) {
        const text = (await (await open(who, path)).text()).replaceAll(`value="${canary}"`, '')
        expect(text.replaceAll(`text=${canary}`, ''), `${who} ${path}`).not.toContain(canary)
      }
    }
    expect(known(await list('olga', `text=${canary.toUpperCase()}`))).toEqual([
      'cellar',
      'dm',
      'manual',
    ])
  })

  test('filters and totals agree, in one round trip, on the page and in the API', async () => {
    expect(known(await list('olga', 'cost_microusd_from=20&outcome=completed'))).toEqual([
      'cellar',
      'dm',
      'manual',
    ])
    expect(known(await list('olga', 'text=plums&requester=%40olga&agent=scout'))).toEqual([
      'public',
    ])
    expect(await list('olga', 'requester=bob')).toEqual([])
    expect(await list('olga', 'tokens_from=1000000')).toEqual([])
    expect(await list('olga', 'until=2020-01-01')).toEqual([])
    const { body } = await call('olga', '/activations/totals?cost_microusd_from=20')
    expect(body).toMatchObject({ runs: 3, cost_microusd: 90, since: null, is_priced: true })
    const page = await open('olga', '/runs?cost_from=0.00003&requester=olga&totals=1')
    const html = await page.text()
    expect(readCost(page.headers).roundTrips).toBe(1)
    expect(html).toMatch(/<dt>Runs<\/dt><dd>2<\/dd>/)
    expect(html).toContain('manual by olga')
    expect(html).toContain('href="/runs.csv?requester=olga&amp;cost_from=0.00003"')
    const invalid = await open('olga', '/runs?cost_from=much')
    expect(invalid.status).toBe(400)
    expect(await invalid.text()).toContain('Must be an amount in dollars')
    const csv = await (await open('olga', '/runs.csv?text=plums')).text()
    expect(csv).toContain(`"'=Plums, ""ripe"""`)
    expect(csv).toContain(',0.000010,')
  })

  test('reads a bounded number of runs, and goes on where a page ended', async () => {
    const count = runLists.scannedMax + 2_000
    await run(
      `WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < ${count - 1})
       INSERT INTO activations (id, agent_id, class, task, state, admission, model, definition_version, started_at,
         deadline_at, outcome, cost_microusd)
       SELECT 'old-' || i, (SELECT id FROM accounts WHERE name = iif(i % 1000, 'wren', 'scout')), 'inbox', 'exploration',
         'done', 'granted', 'm', 1, i + 1, i, iif(i = 0, 'failed', 'completed'), 1 FROM n`,
    )
    const first = await call('bob', '/activations?limit=100')
    expect(first.body.activations).toHaveLength(100)
    expect(readCost(first.headers).rowsRead).toBeLessThan(450)
    const sparse = await call('bob', '/activations?outcome=failed')
    expect(sparse.body).toMatchObject({ activations: [], has_more: true })
    expect(readCost(sparse.headers).rowsRead).toBeLessThan(4 * runLists.scannedMax)
    const next = await call('bob', `/activations?outcome=failed&cursor=${sparse.body.next_cursor}`)
    expect(next.body).toMatchObject({ activations: [{ id: 'old-0' }], has_more: false })
    const page = await open('bob', '/runs')
    const html = await page.text()
    expect(readCost(page.headers).rowsRead).toBeLessThan(1_000)
    expect(html.match(/data-row/g)).toHaveLength(runLists.pageDefault)
    expect(html).not.toContain('<dt>Cost</dt>')
    const added = await open('bob', '/runs?totals=1')
    expect(readCost(added.headers).rowsRead).toBeLessThan(4 * runLists.scannedMax)
    expect(await added.text()).toContain('Totals and CSV cover the newest 10,000 runs')
    const ofAgent = await open('bob', '/runs?agent=scout')
    expect(readCost(ofAgent.headers).rowsRead).toBeLessThan(500)
    const { body } = await call('bob', '/activations/totals?agent=wren')
    expect(body).toMatchObject({ runs: 10_000, cost_microusd: 10_000 })
    expect(body.since).not.toBeNull()
    const seen = new Set<string>()
    for (let path: string | null = '/runs?agent=scout&until=1970-01-02'; path !== null; ) {
      const text: string = await (await open('bob', path)).text()
      for (const [, id] of text.matchAll(/href="\/activations\/(old-\d+)"/g)) seen.add(id ?? '')
      path = /<a href="([^"]+)" rel="next"/.exec(text)?.[1]?.replaceAll('&amp;', '&') ?? null
    }
    expect(seen.size).toBe(12)
    // Cursors of another filter, and of a list that counts rows.
    const foreign: string = sparse.body.next_cursor
    const counted = (await call('root', '/agents?limit=1')).body.next_cursor
    for (const who of ['bob', 'stranger']) {
      const refused = await call(who, `/activations?agent=scout&cursor=${foreign}`)
      expect([refused.status, refused.body.error]).toEqual([400, 'The cursor is not valid.'])
    }
    for (const path of [`/activations?cursor=${counted}`, `/audit?cursor=${counted}`]) {
      const refused = await call('root', path)
      expect([refused.status, refused.body.error]).toEqual([400, 'The cursor is not valid.'])
    }
    expect((await open('bob', `/runs?outcome=failed&cursor=${counted}`)).status).toBe(400)
    await run(`DELETE FROM activations WHERE id LIKE 'old-%'`)
  })

  test('keeps views of an account: the fields of the filter alone, twenty, and nobody else’s', async () => {
    const browser = await signIn(hub, keys.olga ?? '')
    const save = (name: string, query: string) => browser.send('/runs/views', { name, query })
    const saved = await save('Dear <b>runs</b>', 'agent=scout&cost_from=1&next=//evil.test')
    expect(saved.headers.get('location')).toBe('/runs?agent=scout&cost_from=1')
    const html = await browser.read('/runs')
    expect(html).toContain('href="/runs?agent=scout&amp;cost_from=1"')
    expect(html).toContain('Dear &lt;b&gt;runs&lt;/b&gt;')
    expect(await (await signIn(hub, keys.bob ?? '')).read('/runs')).not.toContain('Dear')
    for (let n = 1; n < runLists.viewsMax; n++) {
      expect((await save(`View ${n}`, 'agent=wren')).status).toBe(303)
    }
    const refused = await save('One more', 'agent=wren')
    expect(refused.status).toBe(409)
    expect(await refused.text()).toContain('value="One more"')
    expect((await save('VIEW 1', 'agent=scout')).status).toBe(303)
    expect((await save('', 'agent=scout')).status).toBe(400)
    await browser.send('/runs/views/delete', { name: 'Dear <b>runs</b>' })
    expect(await browser.read('/runs')).not.toContain('Dear')
  })
})

test('the page of a run shows calls as they were requested, denied ones too, with indented JSON', async () => {
  const html = await (await open('dora', `/activations/${runs.public}`)).text()
  expect(html.match(/id="step-1-c\d"/g)).toEqual(['id="step-1-c1"', 'id="step-1-c2"'])
  expect(html).toContain('Error: Denied')
  expect(html).toContain('{\n  &quot;hits&quot;: [')
  expect(html).toContain('{\n  &quot;q&quot;: 1')
})

describe('feedback on an answer', () => {
  const path = (name: string) => `/activations/${runs[name]}/feedback`
  const rate = (who: string, name: string, body: object = { value: 'up' }) =>
    call(who, path(name), 'PUT', body)

  test('is one for each person and run, changes, and goes', async () => {
    const note = 'This was <script>wrong</script>'
    expect((await rate('olga', 'public', { value: 'up' })).status).toBe(200)
    expect((await rate('olga', 'public', { value: 'down', note })).status).toBe(200)
    expect((await rate('bob', 'public')).status).toBe(200)
    const { body } = await call('olga', path('public'))
    expect(body).toMatchObject({ up: 1, down: 1 })
    expect(body.feedback).toMatchObject([
      { account: { name: 'olga', kind: 'human' }, value: 'down', note, is_own: true },
      { account: { name: 'bob', kind: 'human' }, value: 'up', note: '', is_own: false },
    ])
    for (const where of [`/activations/${runs.public}`, '/a/scout']) {
      const html = await (await open('bob', where)).text()
      expect(html, where).toContain('This was &lt;script&gt;wrong&lt;/script&gt;')
    }
    const card = await (await open('bob', '/a/scout')).text()
    expect(card).toMatch(
      /Good answers<\/dt><dd class="num">1<\/dd><dt>Bad answers<\/dt><dd class="num">1</,
    )
    await call('bob', path('public'), 'DELETE')
    expect((await call('olga', path('public'))).body).toMatchObject({ up: 0, down: 1 })
    expect((await rate('olga', 'public', { value: 'up', note: 'x'.repeat(1_001) })).status).toBe(
      400,
    )
    expect((await rate('olga', 'public', { value: 'great' })).status).toBe(400)
  })

  test('T21: notes are for people who see the run, and never for agents', async () => {
    const word = 'plover-4711'
    await rate('olga', 'public', { value: 'down', note: word })
    await rate('olga', 'dm', { value: 'down', note: word })
    for (const who of ['stranger', 'scout', 'wren']) {
      const { body } = await call(who, path('public'))
      expect([who, body.down, JSON.stringify(body).includes(word)]).toEqual([who, 1, false])
      for (const where of [`/activations/${runs.public}`, '/a/scout', `/activations/${runs.dm}`]) {
        expect(await (await open(who, where)).text(), `${who} ${where}`).not.toContain(word)
      }
    }
    for (const who of ['bob', 'piet', 'root']) {
      expect((await call(who, path('dm'))).status, who).toBe(404)
      expect((await rate(who, 'dm')).status, who).toBe(404)
      const html = await (await open(who, '/a/scout')).text()
      expect(html).toMatch(/Bad answers<\/dt><dd class="num">1</)
    }
    expect((await call('dora', path('dm'))).body.feedback[0].note).toBe(word)
    expect((await rate('wren', 'public')).status).toBe(403)
    expect((await rate('piet', 'cellar')).status).toBe(200)
  })

  test('in the browser: from the thread, with what was typed after an error, and removed', async () => {
    const browser = await signIn(hub, keys.piet ?? '')
    const target = `/activations/${runs.public}/feedback`
    const next = '/p/x?comment=y#c-y'
    const saved = await browser.send(target, { value: 'down', note: 'Not ripe', next })
    expect([saved.status, saved.headers.get('location')]).toEqual([303, next])
    const { post_id: postId } = (await call('piet', `/activations/${runs.public}`)).body.activation
    const thread = await browser.get(`/p/${postId}`)
    expect(readCost(thread.headers).roundTrips).toBe(1)
    const html = await thread.text()
    expect(html).toContain('You rated: bad')
    expect(html).toMatch(/<textarea[^>]*>Not ripe<\/textarea>/)
    const long = await browser.send(target, { value: 'up', note: 'y'.repeat(1_001), next })
    expect(long.status).toBe(400)
    const rejected = await long.text()
    expect(rejected).toContain('at most 1,000 characters')
    expect(rejected).toContain('y'.repeat(1_001))
    await browser.send(target, { value: 'none', next })
    expect(await browser.read(`/p/${postId}`)).not.toContain('You rated')
  })

  test('waits for the end of the run, and goes with the account', async () => {
    await call('olga', '/posts', 'POST', { community: 'general', title: 'Pears', content: '@wren' })
    const wren = await office.first<{ id: string }>(`SELECT id FROM accounts WHERE name = 'wren'`)
    const { activationId } = await office.start(
      (wren?.id ?? '') as Parameters<typeof office.start>[0],
    )
    runs.running = activationId
    expect((await rate('bob', 'running')).status).toBe(409)
    await rate('bob', 'public', { value: 'up', note: canary })
    await call('rootKey', '/accounts/bob?words=keep', 'DELETE')
    const left = await office.first('SELECT * FROM run_feedback WHERE account_id = ?', people.bob)
    expect(left).toBeNull()
  })
})

test('B10 T3: each line of the spending by requester leads to the runs that cost as much', async () => {
  const lark = await office.createAgent('lark')
  await office.post(keys.olga ?? '', '@lark explore')
  const { activationId } = await office.start(lark.id)
  await run(
    `UPDATE activations SET requesters = '[]', task = 'exploration' WHERE id = ?`,
    activationId,
  )
  await office.commit(lark.id, activationId, { usage: [usageOf(700, 3)] })
  await office.hubApi.sweep(hub.clock.now())
  const page = await open('otto', '/budgets')
  expect(readCost(page.headers).roundTrips).toBe(1)
  const html = await page.text()
  const section = /<section class="block" id="requesters">.*?<\/section>/s.exec(html)?.[0] ?? ''
  const readLinks = (of: string) =>
    [...of.matchAll(/href="\/runs\?(requester=[^"]*)"/g)].map(([, query = '']) =>
      query.replaceAll('&amp;', '&'),
    )
  const costOf = async (who: string, query: string) =>
    (await call(who, `/activations/totals?${query}`)).body.cost_microusd
  const [ofOlga = '', ofNobody = ''] = readLinks(section)
  expect([ofOlga, ofNobody]).toEqual([
    expect.stringMatching(/^requester=olga&since=\d{4}-\d\d-01$/),
    expect.stringMatching(/^requester=-&since=/),
  ])
  // olga sees all of her runs, which an admin does not.
  expect([await costOf('olga', ofOlga), await costOf('otto', ofNobody)]).toEqual([100, 700])
  const { body } = await call('otto', '/budgets')
  expect(body.requesters.spent).toMatchObject([
    { requester: { name: 'olga' }, spent_microusd: 100 },
    { requester: null, task: 'exploration', spent_microusd: 700 },
  ])
  expect(section).toContain('exploration')
  const own = await (await open('olga', '/budgets')).text()
  expect(readLinks(own)).toEqual([ofOlga])
  expect(await (await open('piet', '/budgets')).text()).not.toContain('requester=olga')
  expect(await (await open('stranger', '/budgets')).text()).not.toContain('id="requesters"')
})
