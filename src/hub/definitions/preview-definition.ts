import type { AdminField, DefinitionFacts, DefinitionFiles } from '../../agents/contract/agents'
import type { AccountId } from '../../shared/ids'
import type { ActionContext } from '../action-context'
import { type AccountPolicyRow, toEffectivePolicy } from '../grants/policy-queries'
import { findNotGranted, previewRequested, type ToolChanges } from '../grants/preview'
import { diffFiles, type FileDiff } from './diff-files'
import { findNewAdminFields } from './may-edit'
import { addGrants } from './save-definition'

/** What saving a definition would change. */
export interface DefinitionPreview {
  /** Null for a new agent, and when the hub can no longer read the current version. */
  before: DefinitionFacts | null
  after: DefinitionFacts
  diffs: FileDiff[]
  /** Requested grants that the current version does not request. */
  requestedMore: string[]
  requestedLess: string[]
  tools: ToolChanges
  /** Requested grants that an admin can allow, since the policy does not allow them yet. */
  allowable: string[]
  /** Requested grants that the policy denies. */
  denied: string[]
  /** Fields that a member must not set: those that the current version does not have. */
  adminFields: AdminField[]
}

interface PreviewRequest {
  /** Files of the current version; null for a new agent. */
  current: DefinitionFiles | null
  files: DefinitionFiles
  facts: DefinitionFacts
  /** The default policy, and that of the agent if it exists. */
  policies: AccountPolicyRow[]
}

/** Returns what saving a valid definition would change. */
export async function previewDefinition(
  { agents, tools }: Pick<ActionContext, 'agents' | 'tools'>,
  { current, files, facts, policies }: PreviewRequest,
): Promise<DefinitionPreview> {
  const check = current && (await agents.checkDefinition(current))
  const before = check?.ok ? check.facts : null
  const row = findRow(policies, facts.name)
  if (row) await tools.refresh(toEffectivePolicy(row))
  const own = addGrants(policies, facts.name, facts.grants)
  const requesting = row && { ...row, requested: facts.grants }
  const missing = requesting ? findNotGranted(toEffectivePolicy(requesting), tools) : facts.grants
  const denied = requesting ? findNotGranted(toEffectivePolicy({ ...requesting, own }), tools) : []
  const old = before?.grants ?? []
  return {
    ...{ before, after: facts, denied },
    adminFields: findNewAdminFields(before, facts),
    diffs: diffFiles(current ?? {}, files),
    requestedMore: facts.grants.filter((grant) => !old.includes(grant)),
    requestedLess: old.filter((grant) => !facts.grants.includes(grant)),
    tools: row
      ? previewRequested(row, facts.grants, tools)
      : { gains: [], loses: [], moreApproval: [], lessApproval: [] },
    allowable: missing.filter((grant) => !denied.includes(grant)),
  }
}

/** Returns the policy of an agent; for a new one the default, with nothing requested yet. */
function findRow(policies: AccountPolicyRow[], name: string): AccountPolicyRow | null {
  const own = policies.find((row) => row.name === name && row.id !== '*')
  if (own) return { ...own, requested: own.requested ?? [] }
  const base = policies.find(({ id }) => id === '*')
  const id = 'new' as AccountId
  return base ? { ...base, id, name, kind: 'agent', own: null, requested: [] } : null
}
