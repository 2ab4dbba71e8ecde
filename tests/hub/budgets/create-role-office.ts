import { beforeAll, beforeEach, expect } from 'vitest'
import { adminKey } from '../create-test-hub'
import { createOffice, usageOf } from '../runs/create-office'

/** A hub with three members, an agent that one of them claimed, a guest, and three hosted agents. */
export function createRoleOffice() {
  const office = createOffice()
  const { hub, createAgent, start, post } = office
  const people: Record<string, Account> = {}
  const agents: Account[] = []
  const get = (name: string): Account => people[name] ?? ({ id: '', key: '', name: '' } as Account)

  beforeAll(async () => {
    for (const name of ['mira', 'ada', 'ben']) people[name] = await hub.join(name, 'human')
    people.kit = await hub.join('kit')
    await office.run(
      'UPDATE accounts SET owner_id = ?1 WHERE id = ?2',
      get('mira').id,
      get('kit').id,
    )
    const { body } = await hub.call('/accounts', { body: { name: 'gus' } })
    people.gus = { id: body.account.id, key: body.account.api_key, name: 'gus' }
    for (const name of ['scout', 'finch', 'lark']) agents.push(await createAgent(name))
    await office.hubApi.sweep(hub.clock.now())
  })
  beforeEach(async () => {
    await office.clear()
    await office.run(`DELETE FROM budgets WHERE scope = 'requester' OR scope LIKE 'role:%'`)
    await office.run('DELETE FROM budget_account_windows')
    await office.run(
      `UPDATE accounts SET role = 'member' WHERE name IN ('mira', 'ada', 'ben', 'kit')`,
    )
  })

  const createBudget = async (body: object): Promise<string> => {
    const answer = await hub.call('/budgets', { key: adminKey, body: { period: 'month', ...body } })
    expect(answer.status, JSON.stringify(answer.body)).toBe(201)
    return answer.body.budget.id
  }
  const spentOf = async (budgetId: string, name: string): Promise<number> =>
    (
      await office.first<{ n: number }>(
        'SELECT total(spent_microusd) AS n FROM budget_account_windows WHERE budget_id = ? AND account_id = ?',
        budgetId,
        get(name).id,
      )
    )?.n ?? -1
  const readDifferences = async () =>
    (await hub.call('/budgets/audit', { key: adminKey })).body.differences
  const [scout, finch] = [() => agents[0] as Account, () => agents[1] as Account]
  const spend = async (by: string, cost: number, agent = scout()) => {
    await post(get(by).key, `@${agent.name} please`)
    const { activationId } = await start(agent.id)
    await office.commit(agent.id, activationId, { usage: [usageOf(cost, 3)] })
  }

  return { office, agents, get, createBudget, spentOf, readDifferences, scout, finch, spend }
}

export type Account = Awaited<ReturnType<ReturnType<typeof createOffice>['hub']['join']>>
