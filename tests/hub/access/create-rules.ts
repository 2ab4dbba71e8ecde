import { env } from 'cloudflare:workers'
import { listKnownTools } from '../../../src/mcp-servers/gateway/known-tools'
import { hubServer } from '../../../src/mcp-servers/servers/hub'
import type { TestHub } from '../create-test-hub'

/** Returns functions that create approvals, and standing rules made from them. */
export function createRules(hubs: TestHub[], of: { agentId: string }, admin: Send) {
  for (const hub of hubs) hub.seen.tools = listKnownTools([hubServer])
  const [hub] = hubs
  let count = 0
  /** A call with a key that waits for an approval. */
  const newApproval = async () => {
    const id = crypto.randomUUID()
    const now = hub?.clock.now() ?? 0
    await env.DB.prepare(
      `INSERT INTO approvals (id, account_id, call_id, tool, "grant", tier, arguments, arguments_hash, created_at, expires_at)
       VALUES (?1, ?2, ?1, 'hub_create_post', 'hub:write', 'write', '{"title":"A title"}', ?3, ?4, ?4 + 864e5)`,
    )
      .bind(id, of.agentId, `rule-${++count}`, now)
      .run()
    return id
  }
  const newRule = async () => {
    const id = await newApproval()
    await admin(`/approvals/${id}/decide`, { decision: 'approve', standing_rule: {} })
    const row = await env.DB.prepare('SELECT id FROM standing_rules ORDER BY rowid DESC').first<{
      id: string
    }>()
    return row?.id ?? ''
  }
  return { newApproval, newRule }
}

type Send = (path: string, body: unknown) => Promise<unknown>
