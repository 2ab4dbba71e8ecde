import type { DefinitionFiles } from '../../agents/contract/agents'
import { batch, run } from '../../shared/db/batch'
import type { ActionContext } from '../action-context'
import type { Sender } from '../contract/hub'
import { checkPolicy, setPolicy } from '../grants/actions'
import type { Policy } from '../grants/policy-body'
import {
  type AccountPolicyRow,
  readDefaultPolicy,
  selectPolicies,
  toEffectivePolicy,
} from '../grants/policy-queries'
import { putDefinition, type SaveOptions } from './actions'
import { definitionErrors } from './errors'
import { type Editor, requireEditor } from './may-edit'
import { type DefinitionRow, selectDefinition, selectVersions } from './queries'

/** Who saves a definition, with the key or session of the request. */
export type Saver = Editor & Pick<Sender, 'id' | 'keyId'>

/**
 * Saves a definition and adds grants to the agent's own policy in the same step.
 *
 * @param allowGrants grants to allow besides those that the policy of the agent allows already
 * @throws as `putDefinition`, FORBIDDEN for grants that a member allows, VALIDATION for grants that a policy
 *   cannot allow
 */
export async function saveDefinition(
  context: ActionContext,
  editor: Saver,
  name: string,
  files: DefinitionFiles,
  { allowGrants, ...options }: SaveOptions & { allowGrants: string[] },
): Promise<DefinitionRow> {
  if (allowGrants.length === 0) return putDefinition(context, editor, name, files, options)
  if (editor.role !== 'admin') throw definitionErrors.grantsByAdmin(allowGrants)
  const rows = await run(context.db, selectPolicies(name))
  const policy = addGrants(rows, name, allowGrants)
  const stands = rows.find((row) => row.name === name) ?? rows.find(({ id }) => id === '*')
  if (stands) await context.tools.refresh(toEffectivePolicy(stands))
  checkPolicy(policy, stands ?? { own: null, default: null }, context)
  const saved = await putDefinition(context, editor, name, files, options)
  const seenAt = rows.find((row) => row.name === saved.name)?.updatedAt ?? 0
  await setPolicy(context, {
    name: saved.name,
    policy,
    by: editor,
    isDryRun: false,
    seenAt,
  })
  return saved
}

/** Returns the own policy of an account with more grants; without one, that of the default. */
export function addGrants(rows: AccountPolicyRow[], name: string, grants: string[]): Policy {
  const row = rows.find((each) => each.name === name && each.id !== '*')
  const base = rows.find(({ id }) => id === '*')
  const own = row?.own ?? {
    ...{ denied: [], requireApproval: [], rateLimits: [] },
    allowed: base ? readDefaultPolicy(base).allowed : [],
  }
  return { ...own, allowed: [...new Set([...own.allowed, ...grants])] }
}

/**
 * Makes an earlier version of a definition the active one, as a new version with its files.
 *
 * @throws NOT_FOUND, and as `putDefinition`
 */
export async function restoreDefinition(
  context: ActionContext,
  editor: Editor,
  name: string,
  { version, baseVersion }: { version: number; baseVersion?: number | undefined },
): Promise<DefinitionRow> {
  const { versions, definition } = await batch(context.db, {
    versions: selectVersions({ name }),
    definition: selectDefinition({ name }),
  })
  if (!definition) throw definitionErrors.notFound()
  requireEditor(editor, definition.ownerId)
  const earlier = versions.find((each) => each.version === version)
  if (!earlier) throw definitionErrors.noVersion(name, version)
  const files = await readFiles(context, name, earlier)
  return putDefinition(context, editor, name, files, { baseVersion, restoredFrom: version })
}

/** Returns the files of a version. @throws NOT_FOUND when the bucket does not have all of them */
export async function readFiles(
  { agents }: ActionContext,
  name: string,
  { version, etag }: { version: number; etag: string },
): Promise<DefinitionFiles> {
  const files = await agents.readDefinition(name, etag)
  if (!files) throw definitionErrors.missingFiles(name, version)
  return files
}
