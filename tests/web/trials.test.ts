import { beforeAll, expect, test } from 'vitest'
import { adminKey } from '../hub/create-test-hub'
import { factsOf } from '../hub/replays/create-replays'
import { createTrials, type Play, type Trials } from '../hub/trials/create-trials'
import { type Browser, signIn } from './open-pages'
import { readFormFields } from './read-form'

let world: Trials
let mira: Browser

beforeAll(async () => {
  world = await createTrials()
  mira = await signIn(world.hub, world.mira.key)
})

/** Answers of both definitions. */
const answering =
  (baseline: string, candidate: string): Play =>
  ({ lane }) => ({ answer: lane === 'baseline' ? baseline : candidate })

/** A trial of so many runs that has ended. */
async function runTrial(play: Play, checks: object[] = [], count = 1, body: object = {}) {
  const runs = await world.runMany(count)
  const set = await world.createSet(
    runs.map(({ id }) => id),
    checks,
    'Name the <day>.',
  )
  const id = await world.startTrial(set, body)
  await world.playTrial(id, play)
  return { id, set, runs }
}

const rowsOf = (html: string): string[] => {
  const [, table = ''] = html.split('id="cases"')
  return [...table.matchAll(/<tr id="case-[\w-]+"><td>([\s\S]*?)<\/tr>/g)].map(
    ([, row = '']) => row,
  )
}

test('P6: the page of a trial says what it found, and lists the cases with why and by whom', async () => {
  const contains = [{ type: 'contains', value: 'Friday' }]
  const { id } = await runTrial(answering('On Friday.', 'No idea.'), contains, 2, { repeats: 2 })
  const html = await mira.read(`/trials/${id}`)
  expect(html).not.toContain('data-running')
  expect(html).toMatch(/<dt>Worse<\/dt><dd>2<\/dd>/)
  expect(html).toContain((await world.readTrial(id)).reason)
  expect(html).toMatch(/better in 0 of 2.cases with a difference: 0.% to \d+.%/)
  expect(html).toMatch(/Runs that passed all checks<\/th><td[^>]*>4 of 4<\/td><td[^>]*>0 of 4</)
  expect(html).toMatch(/all 2 runs passed<\/th><td[^>]*>2 of 2<\/td><td[^>]*>0 of 2</)
  const rows = rowsOf(html)
  expect(rows).toHaveLength(2)
  for (const row of rows) {
    expect(row).toContain('Name the &lt;day&gt;.')
    expect(row).toContain('Draft, 2 of 2: The answer does not contain “Friday”.')
    expect(row).not.toContain('Active, ')
    expect(row).toMatch(/worse[\s\S]*checks[\s\S]*href="\/replays\//)
  }
  expect(rowsOf(await mira.read(`/trials/${id}?verdict=worse`))).toHaveLength(2)
  const other = await mira.read(`/trials/${id}?verdict=better`)
  expect(other).toContain('No such case.')
  expect(other).toContain('aria-current="page">Better 0')
})

test('P3: the pages of a trial and of its replays say what was reused, and from where', async () => {
  const play: Play = ({ lane }) => ({
    answer: lane,
    ...(lane === 'baseline' && { inputs: 'same' }),
  })
  const { id: earlier, set } = await runTrial(play)
  expect(await mira.read(`/trials/${earlier}`)).not.toContain('Reused')
  const id = await world.startTrial(set)
  await world.playTrial(id, play)
  expect(await mira.read(`/trials/${id}`)).toMatch(
    /Reused from earlier replays: 1.run of the active definition\./,
  )
  const [from, to] = await Promise.all(
    [earlier, id].map(async (trial) => (await world.readTrial(trial)).cases[0].replay_id),
  )
  expect(await mira.read(`/replays/${to}`)).toContain(
    `Reused from <a href="/replays/${from}">an earlier replay</a>, which paid for it`,
  )
  expect(await mira.read(`/replays/${from}`)).not.toContain('Reused')
})

test('P11: while a trial runs its page follows it and can cancel it; what did not run says so', async () => {
  const [run] = await world.runMany(1)
  const id = await world.startTrial(await world.createSet([run?.id ?? '']))
  const running = await mira.read(`/trials/${id}`)
  expect(running).toContain('data-running')
  expect(running).toMatch(/<progress value="0" max="1"/)
  expect(running).toContain(`action="/trials/${id}/cancel"`)
  for (const turn of ['cancelled', 'ended before']) {
    const sent = await mira.send(`/trials/${id}/cancel`, {})
    expect([turn, sent.status, sent.headers.get('location')]).toEqual([turn, 303, `/trials/${id}`])
  }
  const over = await mira.read(`/trials/${id}`)
  expect(over).not.toContain('data-running')
  expect(over).toContain('It was cancelled.')
  expect(rowsOf(over)[0]).toContain('cancelled')
})

test('P5: a case that cannot run says why', async () => {
  const runs = await world.runMany(2)
  await world.office.run('DELETE FROM activation_traces WHERE activation_id = ?', runs[0]?.id)
  const id = await world.startTrial(await world.createSet(runs.map((run) => run.id)))
  await world.playTrial(id)
  const html = await mira.read(`/trials/${id}?verdict=skipped`)
  expect(rowsOf(html)).toEqual([expect.stringContaining('The record of the run is no longer')])
})

test('P6: people compare blind, case by case, until none waits; nothing on the page says which answer is whose', async () => {
  const { id } = await runTrial(answering('We wait.', 'We **act**.'), [], 2)
  expect(await mira.read(`/trials/${id}`)).toContain(`href="/trials/${id}/compare"`)
  const path = `/trials/${id}/compare`
  const seen: string[] = []
  for (const left of [2, 1]) {
    const html = await mira.read(path)
    expect(html).toContain(`${left}\u00a0${left === 1 ? 'case' : 'cases'} left`)
    expect(html).toContain('Name the &lt;day&gt;.')
    expect(html).not.toMatch(/baseline|candidate|draft|\/replays\//i)
    const first = html.indexOf('We wait') < html.indexOf('<strong>act')
    const judgement = first ? 'second' : 'first'
    const fields = readFormFields(html, path)
    seen.push(fields.case ?? '')
    const sent = await mira.send(path, { ...fields, judgement })
    expect([sent.status, sent.headers.get('location')]).toEqual([303, path])
  }
  expect(new Set(seen).size).toBe(2)
  expect((await mira.get(path)).headers.get('location')).toBe(`/trials/${id}`)
  const { cases } = await world.readTrial(id)
  expect(cases.map((each: { verdict: string; by: string }) => [each.verdict, each.by])).toEqual([
    ['better', 'people'],
    ['better', 'people'],
  ])
  // one that was compared can be compared again
  expect((await mira.get(`${path}?case=${seen[0]}`)).status).toBe(200)
  expect((await mira.send(path, { case: seen[0] ?? '', judgement: 'both' })).status).toBe(400)
})

test('P6: equal answers are not asked about, and their page says so', async () => {
  const { id, set } = await runTrial(answering('We **wait**.', 'We  **wait**. '), [], 2)
  const html = await mira.read(`/trials/${id}`)
  expect(html).toMatch(/<dt>Same<\/dt><dd>2<\/dd>/)
  // no check has decided, and none was passed
  expect(html).not.toContain('passed all checks')
  const [row = ''] = rowsOf(html)
  expect(row).toContain('the same answer')
  expect(row).not.toMatch(/>checks<|\/compare/)
  expect((await mira.get(`/trials/${id}/compare`)).headers.get('location')).toBe(`/trials/${id}`)

  const [, caseId = ''] = /id="case-([\w-]+)"/.exec(html) ?? []
  const page = await mira.read(`/trials/${id}/compare?case=${caseId}`)
  expect(page).toContain('The answers are the same')
  expect(page.match(/<strong>wait/g)).toHaveLength(1)
  expect(page).not.toContain('name="judgement"')
  const sent = await mira.send(`/trials/${id}/compare`, { case: caseId, judgement: 'first' })
  expect(sent.status).toBe(409)
  expect(await mira.read(`/sets/${set}`)).toMatch(/href="\/trials\/[^>]*>2 same<\/a>/)
})

test('P4: a replay of a trial says in one sentence what its draft did, and leads back to its case', async () => {
  const of = async (candidate: string) => {
    const { id } = await runTrial(answering('We wait.', candidate))
    const [, caseId = ''] = /id="case-([\w-]+)"/.exec(await mira.read(`/trials/${id}`)) ?? []
    const [{ replay_id: replayId }] = (await world.readTrial(id)).cases
    const html = await mira.read(`/replays/${replayId}`)
    expect(html).toContain(`href="/trials/${id}#case-${caseId}"`)
    // the run can be seen by who may not edit its agent
    await world.office.run('UPDATE accounts SET owner_id = NULL WHERE id = ?', world.scout.id)
    expect(await mira.read(`/replays/${replayId}`)).not.toContain(`/trials/${id}`)
    await world.office.run(
      'UPDATE accounts SET owner_id = ? WHERE id = ?',
      world.mira.id,
      world.scout.id,
    )
    return html
  }
  const part = { step: 1, reason: 'prompt' as const, detail: 'The first prompts differ.' }
  world.hub.seen.findParting = () => part
  const same = await of('We  wait.')
  expect(same).toContain(
    'The draft differs from the definition of the run, and gave the same answer.',
  )
  expect(same).toContain('The answers are the same.')
  expect(await of('We act.')).toContain(
    'The draft gave another answer than the definition of the run.',
  )
  world.hub.seen.findParting = () => null
  expect(await of('We wait.')).toContain('The draft did the same as the definition of the run.')
})

test('P6: where a change is tried with the offline model, the page says that it follows no instructions', async () => {
  const [run] = await world.runMany(1)
  const set = await world.createSet([run?.id ?? ''])
  const { check } = world.hub.seen
  for (const isOffline of [true, false]) {
    world.hub.seen.check = () => ({ ok: true, facts: factsOf({ isOffline }) })
    const files = await mira.read('/a/scout/edit?view=files')
    const fields = { ...readFormFields(files, '/a/scout/edit'), set, do: 'try' }
    for (const page of [
      await (await mira.send('/a/scout/edit', fields)).text(),
      await mira.read(`/activations/${run?.id}/try`),
    ]) {
      expect(page.includes('follows no instructions')).toBe(isOffline)
    }
  }
  world.hub.seen.check = check
})

test('P6: the words of the judge are shown for both orders, with whose answer was first', async () => {
  const judge = { model: 'near/judge', costMaxMicrousd: 50, isPriced: true, tokensMax: 500 }
  world.hub.seen.readJudge = () => judge
  const { id } = await runTrial((lane) =>
    lane.lane === 'judge'
      ? { answer: JSON.stringify({ says: lane.sample === 1 ? 'second' : 'first', reason: '<b>' }) }
      : answering('We wait.', 'We act.')(lane),
  )
  world.hub.seen.readJudge = () => null
  const html = await mira.read(`/trials/${id}`)
  expect(html).toContain('near/judge')
  const [row = ''] = rowsOf(html)
  expect(row).toContain('active shown first: draft is better')
  expect(row).toContain('draft shown first: draft is better')
  expect(row).toContain('&lt;b&gt;')
  expect(row).toMatch(/better[\s\S]*judge/)
})

test('P6 P8: the editor tries its draft on a set: the promise first, then the trial, and what was typed is kept', async () => {
  const editor = '/a/scout/edit'
  expect(await mira.read(editor)).toMatch(/href="\/a\/scout\/sets">/)
  const [run] = await world.runMany(1)
  const set = await world.createSet([run?.id ?? ''])
  const draft = 'You are scout, and brief.'
  const press = async (html: string, button: string, changed: Record<string, string> = {}) =>
    mira.send(editor, { ...readFormFields(html, editor), ...changed, do: button })

  const typed = { 'system-prompt.md': draft, set, repeats: '3' }
  const promised = await press(await mira.read(`${editor}?view=files`), 'try', typed)
  const shown = await promised.text()
  expect(promised.status).toBe(200)
  expect(shown).toMatch(/runs 1.case 3 times with the active definition and with the draft/)
  expect(shown).toContain('Budgets that pay: ')
  expect(shown).toContain(draft)
  const started = await press(shown, 'start_trial')
  const path = started.headers.get('location') ?? ''
  expect([started.status, path]).toEqual([303, expect.stringMatching(/^\/trials\//)])
  await world.hub.settle()
  // the same form, sent twice
  expect((await press(shown, 'start_trial')).headers.get('location')).toBe(path)

  const opened = await mira.read(path)
  const [, back = ''] = /href="([^"]+)">Open the draft/.exec(opened) ?? []
  expect(back).toContain(`?set=${set}&amp;`)
  expect(await mira.read(back.replaceAll('&amp;', '&'))).toContain(draft)
  const [, id = ''] = path.split('/trials/')
  expect((await mira.get(`/a/archivist/edit?trial=${id}`)).status).toBe(404)

  const empty = await world.createSet([])
  const refused = await press(shown, 'start_trial', { set: empty })
  const text = await refused.text()
  expect([refused.status, text.includes(draft)]).toEqual([409, true])
  expect(text).toContain('The set has no case.')
})

test('P7: the page of a change that waits shows what it changes and what its trial found; only an admin applies it', async () => {
  const { hub, office, scout, files, playTrial, sweep } = world
  const runs = await world.runMany(2)
  const contains = [{ type: 'contains', value: 'wait' }]
  const set = await world.createSet(
    runs.map(({ id }) => id),
    contains,
  )
  const trial = { set, worseMax: 1, costChangeMax: 0.2, repeats: 3 }
  await office.run(`UPDATE agents SET definition_etag = 'etag' WHERE account_id = ?`, scout.id)
  const isActive = (prompt = '') => prompt === 'You are scout.'
  hub.seen.check = (given) => {
    const prompt = given['system-prompt.md']
    return {
      ok: true,
      facts: factsOf({ etag: isActive(prompt) ? 'etag' : `etag of ${prompt}`, trial }),
    }
  }
  const path = '/a/scout/held'
  expect(await mira.read(path)).toContain('A change of scout waits here while it is tried')
  await world.office.run(
    'UPDATE agents SET gate = ? WHERE account_id = ?',
    JSON.stringify({ ...trial, setKey: trial.set }),
    world.scout.id,
  )
  const { body } = await hub.call('/agents/scout/definition', {
    method: 'PUT',
    key: world.mira.key,
    body: { files, base_version: 1 },
  })
  await hub.settle()
  const waiting = await mira.read(path)
  expect(waiting).toContain('It becomes the active version when it has passed.')
  expect(waiting).toContain(`href="/trials/${body.held.trial_id}"`)
  expect(waiting).toMatch(/each case 3 times/)
  expect(waiting).toMatch(/at most 1.case is worse and runs cost at most 20 % more/)
  expect(waiting).toMatch(/You are[\s\S]*new[\s\S]*scout/)
  expect(waiting).not.toContain(`${path}/apply`)
  const { etag } = body.held
  expect((await mira.send(`${path}/apply`, { etag, reason: 'Now.' })).status).toBe(403)

  await playTrial(body.held.trial_id, answering('We wait.', 'No idea.'))
  await sweep()
  expect(await mira.read(path)).toMatch(/Not applied: It does worse in 2.cases, and at most 1 may/)
  const admin = await signIn(hub, adminKey)
  expect(await admin.read(path)).toContain(`action="${path}/apply"`)
  const unsaid = await admin.send(`${path}/apply`, { etag, reason: ' ' })
  expect([unsaid.status, await unsaid.text()]).toEqual([400, expect.stringContaining('Say why')])
  const applied = await admin.send(`${path}/apply`, { etag, reason: 'It is urgent.' })
  expect([applied.status, applied.headers.get('location')]).toEqual([303, path])
  expect(await mira.read(path)).toMatch(/The last change was applied as version \d+ by @admin/)
})
