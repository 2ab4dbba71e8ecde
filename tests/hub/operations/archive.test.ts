import { env } from 'cloudflare:workers'
import { expect, test } from 'vitest'
import { findCutoffs } from '../../../src/hub/operations/archive-old-records'
import { dayMs } from '../../../src/hub/operations/archive-queries'
import { findNames } from '../../../src/hub/operations/archive-view'
import { adminKey } from '../create-test-hub'
import { createArchiveScene } from './create-archive-scene'

const { hub, scout, all, archive, insertRecords, requireEachOnce } = await createArchiveScene()

test('archive: a crash at any point leaves each record in the database or in a file, never in both', async () => {
  let kills = 0
  // Behind what earlier tests archived.
  hub.clock.advance(100 * dayMs)
  for (const isWritten of [false, true]) {
    for (let kill = 1; ; kill++) {
      hub.clock.advance(3 * dayMs)
      const since = hub.clock.now() - 70 * dayMs
      const ids = await insertRecords(`${isWritten}${kill}`, since, { isOneDay: true })
      let calls = 0
      const isKilled = () => ++calls === kill
      hub.seen.findFault = () =>
        isKilled() ? { message: 'Network connection lost.', isWritten } : null
      hub.seen.beforePut = async () => {
        if (isKilled()) throw new Error('The bucket is down.')
      }
      const end = await archive().then(
        () => 'done',
        () => 'killed',
      )
      hub.seen.findFault = () => null
      hub.seen.beforePut = async () => {}
      await requireEachOnce(ids, since, `after call ${kill}, ${isWritten}`)
      await archive()
      const stored = await requireEachOnce(ids, since, `at the end of ${kill}`)
      for (const kind of ['audit', 'usage', 'traces'] as const) {
        expect(
          stored[kind].filter((id) => ids.includes(id)),
          kind,
        ).toEqual([])
      }
      if (end === 'done') break
      kills++
    }
  }
  // Twice the first read, and select, put and batch of each kind, names for traces, and the last select.
  expect(kills).toBe(28)
})

test('archive: one sweep writes a bounded number of files, and the next goes on', async () => {
  const { results } = await env.DB.prepare('SELECT count(*) AS n FROM archive_files').all()
  const before = Number(results[0]?.n)
  hub.clock.advance(20 * dayMs)
  const at = hub.clock.now() - 80 * dayMs
  for (let day = 0; day < 6; day++) await insertRecords(`bounded${day}`, at + 2 * day * dayMs)
  await archive()
  const count = async () =>
    (await all<{ n: number }>('SELECT count(*) AS n FROM archive_files'))[0]?.n ?? 0
  expect((await count()) - before).toBe(9)
  for (let pass = 0; pass < 4; pass++) await archive()
  expect((await count()) - before).toBe(36)
})

test('archive: a trace that only names an account is found by the name after it was archived', async () => {
  const tomas = await hub.join('tomas', 'human')
  hub.clock.advance(100 * dayMs)
  const at = hub.clock.now() - 40 * dayMs
  const [id = ''] = await insertRecords('named', at)
  await env.DB.prepare('UPDATE activation_traces SET trace = ? WHERE activation_id = ?')
    .bind(JSON.stringify({ text: JSON.stringify({ author: tomas.name }) }), id)
    .run()
  for (let pass = 0; pass < 3; pass++) await archive()
  const read = () =>
    all<{ trace: string }>(`SELECT trace FROM activation_traces WHERE activation_id = '${id}'`)
  expect((await read())[0]?.trace).toMatch(/^archived:.*tomas/)
  await hub.call(`/accounts/${tomas.name}?words=remove`, { key: adminKey, method: 'DELETE' })
  expect(await read()).toEqual([])
})

test('archive: a name at the end of a sentence is a name', () => {
  const trace = String.raw`{"text":"Thanks, @mira. And @ada-l's, @tom_b; \"zoe\" too"}`
  expect(findNames(trace)).toEqual(expect.arrayContaining(['mira', 'ada', 'ada-l', 'tom_b', 'zoe']))
})

test('archive: an entry of the audit that no file has cannot be deleted, nor one of a standing rule', async () => {
  const [recent] = await insertRecords('recent', hub.clock.now() - dayMs)
  await env.DB.prepare(
    `INSERT INTO audit_log (id, account_id, call_id, tool, "grant", arguments_hash, decision, outcome, created_at, rule_id)
     VALUES ('of-rule', ?, 'c', 'hub_search', 'hub:read', 'h', 'allowed', 'ok', 1, 'rule')`,
  )
    .bind(scout.id)
    .run()
  await archive()
  for (const id of [recent, 'of-rule']) {
    await expect(
      env.DB.prepare('DELETE FROM audit_log WHERE id = ?').bind(id).run(),
    ).rejects.toThrow('append-only')
  }
})

test('archive: windows of budgets before the archived usage are not compared with it', async () => {
  await env.DB.prepare(
    `INSERT INTO budget_windows (budget_id, starts_at, ends_at, spent_microusd, spent_tokens)
     SELECT id, 86400000, 172800000, 500, 5 FROM budgets WHERE scope = 'hub' LIMIT 1`,
  ).run()
  const { body } = await hub.call('/budgets/audit', { key: adminKey })
  const starts = body.differences.map((each: { starts_at: string }) => each.starts_at)
  expect(starts).not.toContain('1970-01-02T00:00:00.000Z')
})

test('archive: with a retention of 0 nothing is due', () => {
  expect(findCutoffs({ ROOKERY_RETENTION_DAYS: 0 }, hub.clock.now())).toBeNull()
})
