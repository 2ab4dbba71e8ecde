import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { ActivationId } from '../../../src/shared/ids'
import { sampleSize } from '../../support/sample'
import { usageOf } from '../runs/create-office'
import { type Account, createRoleOffice } from './create-role-office'

const { office, agents, get, createBudget, readDifferences } = createRoleOffice()
const { hub, post, comment } = office

const names = ['mira', 'ada', 'ben', 'kit', 'gus'] as const
const asked = fc.record({
  by: fc.constantFrom(...names),
  to: fc.integer({ min: 0, max: 2 }),
  /** Others who ask in the same thread. */
  also: fc.subarray(['mira', 'ada', 'ben'] as const),
})
const plan = fc.record({
  limits: fc.array(fc.integer({ min: 20, max: 400 }), { minLength: 4, maxLength: 4 }),
  asks: fc.array(asked, { minLength: 3, maxLength: 8 }),
  shares: fc.array(fc.constantFrom(0, 0.3, 0.9, 1), { minLength: 3, maxLength: 6 }),
  demotes: fc.constantFrom(null, 'ada', 'ben'),
  hasOwn: fc.boolean(),
})
type Plan = typeof plan extends fc.Arbitrary<infer T> ? T : never

interface Run {
  activationId: ActivationId
  roles: Record<string, string>
  reserved: number
  spent: number
  calls: number[]
}

test('T3: however runs of several accounts interleave, no account exceeds its window, and the windows add up to the usage', async () => {
  let refusals = 0
  let calls = 0
  const play = async ({ limits, asks, shares, demotes, hasOwn }: Plan) => {
    await office.clear()
    await office.run(`DELETE FROM budgets WHERE scope = 'requester' OR scope LIKE 'role:%'`)
    await office.run('DELETE FROM budget_account_windows')
    await office.run(`UPDATE accounts SET role = 'member' WHERE name IN ('ada', 'ben')`)
    const [month = 0, day = 0, guest = 0, own = 0] = limits
    const budgets = [
      {
        id: await createBudget({ scope: 'role:member', limit_microusd: month }),
        role: 'member',
        limit: month,
      },
      {
        id: await createBudget({ scope: 'role:member', period: 'day', limit_microusd: day }),
        role: 'member',
        limit: day,
      },
      {
        id: await createBudget({ scope: 'role:guest', limit_microusd: guest }),
        role: 'guest',
        limit: guest,
      },
    ]
    if (hasOwn) await createBudget({ scope: 'requester', name: 'ben', limit_microusd: own })
    for (const { by, to, also } of asks) {
      const agent = agents[to]?.name
      const id = await post(get(by).key, `@${agent} please`)
      for (const other of also) await comment(get(other).key, id, `@${agent} me too`)
    }
    const expected = new Map<string, number>()
    const running = new Map<string, Run>()
    const readRoles = async () =>
      Object.fromEntries(
        (await office.all<{ id: string; role: string }>('SELECT id, role FROM accounts')).map(
          ({ id, role }) => [id, role],
        ),
      )
    let turn = 0
    const charge = (roles: Record<string, string>, payer: string, part: number) => {
      for (const { id } of budgets.filter(({ role }) => role === roles[payer])) {
        const key = `${id} ${payer}`
        expected.set(key, (expected.get(key) ?? 0) + part)
      }
    }
    const settle = async (agent: Account, run: Run) => {
      const row = await office.first<{ requesters: string }>(
        'SELECT requesters FROM activations WHERE id = ?',
        run.activationId,
      )
      const ids: string[] = JSON.parse(row?.requesters ?? '[]')
      const parts = run.calls.flatMap((cost) =>
        ids.map((id, at) => ({
          id,
          part: Math.floor(cost / ids.length) + (at === 0 ? cost % ids.length : 0),
        })),
      )
      for (const { id, part } of parts) {
        charge(run.roles, id, part)
        if (id === get('kit').id) charge(run.roles, get('mira').id, part)
      }
      await office.commit(agent.id, run.activationId, {
        usage: run.calls.map((cost, index) => ({ ...usageOf(cost, 1), call: index + 1 })),
      })
    }
    const work = async (agent: Account): Promise<void> => {
      const run = running.get(agent.id)
      if (!run) {
        const roles = await readRoles()
        const activationId = office.newId<ActivationId>()
        const answer = await office.load(agent.id, activationId)
        if (answer.kind !== 'loaded') return
        const begun: Run = {
          activationId,
          roles,
          reserved: answer.reservation.microusd,
          spent: 0,
          calls: [],
        }
        if (answer.admission === 'granted') running.set(agent.id, begun)
        else {
          refusals += 1
          await settle(agent, begun)
        }
        return
      }
      const cost = Math.floor((shares[turn++ % shares.length] ?? 0) * Math.min(100, run.reserved))
      run.calls.push(cost)
      run.spent += cost
      calls += 1
      const again =
        run.calls.length < 2
          ? await office.renew(agent.id, run.activationId, { spent: run.spent })
          : null
      if (again?.kind === 'renewed') {
        run.reserved = again.reservation.microusd
        return
      }
      running.delete(agent.id)
      await settle(agent, run)
    }
    const check = async () => {
      const rows = await office.all<{ budget: string; account: string; sum: number }>(
        `SELECT b.id AS budget, a.id AS account,
           (SELECT total(spent_microusd) FROM budget_account_windows v WHERE v.budget_id = b.id AND v.account_id = a.id)
           + (SELECT total(x.reserved_microusd) FROM activations x, json_each(x.payers) p
              WHERE x.state = 'running' AND p.key = a.id AND 'role:' || (p.value ->> 'role') = b.scope) AS sum
         FROM budgets b, accounts a WHERE b.scope LIKE 'role:%'
           AND NOT EXISTS (SELECT 1 FROM budgets o WHERE o.scope = 'requester' AND o.scope_id = a.id)`,
      )
      for (const { budget, account, sum } of rows) {
        const limit = budgets.find(({ id }) => id === budget)?.limit ?? 0
        expect(sum, `spent and reserved of ${account}`).toBeLessThanOrEqual(limit)
      }
    }
    for (let round = 0; round < 60; round++) {
      if (round === 2 && demotes)
        await office.run(`UPDATE accounts SET role = 'guest' WHERE name = ?`, demotes)
      hub.clock.advance(1)
      await Promise.all([...agents.map(work), check()])
      await check()
      const waiting = await office.first<{ n: number }>(
        'SELECT count(*) AS n FROM inbox_items WHERE read_at IS NULL AND is_task = 1',
      )
      if (running.size === 0 && waiting?.n === 0) break
      expect(round, 'runs wait for each other').toBeLessThan(59)
    }
    const counted = await office.all<{ key: string; spent: number }>(
      `SELECT budget_id || ' ' || account_id AS key, sum(spent_microusd) AS spent FROM budget_account_windows
       GROUP BY 1 HAVING sum(spent_microusd) > 0 ORDER BY 1`,
    )
    const wanted = [...expected]
      .filter(([, spent]) => spent > 0)
      .map(([key, spent]) => ({ key, spent }))
      .toSorted((a, b) => (a.key < b.key ? -1 : 1))
    expect(counted).toEqual(wanted)
    expect(await readDifferences()).toEqual([])
  }
  await fc.assert(fc.asyncProperty(plan, play), { numRuns: sampleSize(4, 10), endOnFailure: true })
  expect(refusals, 'refused runs').toBeGreaterThan(3)
  expect(calls, 'calls').toBeGreaterThan(20)
})
