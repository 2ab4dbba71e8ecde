import { batch } from '../../shared/db/batch'
import type { ActionContext } from '../action-context'
import { selectActiveDefinitions, updateAgentModels } from './queries'

/** Agents whose definitions are read and written at a time. */
const agentsAtOnce = 25

/**
 * Reads again which models each agent can use, with what their calls reserve, after a provider was changed. A
 * definition that was saved meanwhile stays as it is: it was checked with the new providers.
 */
export async function refreshModels(context: ActionContext): Promise<void> {
  const { db, clock, agents, models } = context
  const { rows, connections } = await batch(db, {
    rows: selectActiveDefinitions({}),
    connections: models.selectConnections(),
  })
  for (let from = 0; from < rows.length; from += agentsAtOnce) {
    const statements = await Promise.all(
      rows.slice(from, from + agentsAtOnce).map(async ({ agentId, name, version, etag }) => {
        const files = await agents.readDefinition(name, etag)
        const check = files && (await agents.checkDefinition(files, connections))
        if (!check?.ok) return []
        return updateAgentModels({ agentId, version, etag }, check.facts, clock.now())
      }),
    )
    await batch(db, { statements: statements.flat() })
  }
}
