import { beforeAll, expect, test } from 'vitest'
import { ask, createBudget, createCase, office } from './quiet-cases'

const { hub } = office

beforeAll(() => office.hubApi.sweep(hub.clock.now()))

test('T3 C7: what an account has spent of the budget of its role is shown to it and to admins', async () => {
  await createBudget({ scope: 'role:member', limit_microusd: 5_000_000 })
  const { mira, scout, postId } = await createCase()
  const other = await hub.join('other', 'human')
  const says = async (key?: string) => {
    const { gates } = await ask(scout.name, postId, ...(key === undefined ? [] : [key]))
    return gates.find(({ gate }) => gate === 'requester_budget')?.says
  }
  expect(await says(other.key)).toContain('has money left')
  expect(await says(other.key)).not.toContain('$')
  for (const key of [mira.key, undefined]) expect(await says(key)).toContain('of $5.00')
  await office.run(`UPDATE budgets SET limit_microusd = 5000 WHERE scope = 'role:member'`)
  expect(await says(mira.key)).toContain('has spent $0 of $0.0050.')
})
