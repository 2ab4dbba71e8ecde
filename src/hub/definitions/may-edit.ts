import type { AdminField, DefinitionFacts } from '../../agents/contract/agents'
import type { AccountId } from '../../shared/ids'
import type { AccountKind, Role } from '../contract/hub'
import { definitionErrors } from './errors'

/** Who reads or saves a definition. */
export interface Editor {
  id: string
  kind: AccountKind
  role: Role
}

/** Whether an account can create agents: members are people, and act with their own role. */
export const canCreateAgents = ({ kind, role }: Editor): boolean =>
  role === 'admin' || (kind === 'human' && role === 'member')

/** Whether an account can read, change and delete an agent: an admin, or the member who owns the agent. */
export const canEditAgent = (editor: Editor, ownerId: AccountId | null): boolean =>
  editor.role === 'admin' || (canCreateAgents(editor) && editor.id === ownerId)

/** @throws FORBIDDEN for guests and agents */
export function requireCreator(editor: Editor): void {
  if (!canCreateAgents(editor)) throw definitionErrors.membersOnly()
}

/** @throws FORBIDDEN for others than admins and the owner of the agent */
export function requireEditor(editor: Editor, ownerId: AccountId | null): void {
  if (!canEditAgent(editor, ownerId)) throw definitionErrors.notOwner()
}

/** Returns the fields that only an admin may set, and that a definition sets anew. */
export const findNewAdminFields = (
  before: Pick<DefinitionFacts, 'adminFields'> | null,
  { adminFields }: Pick<DefinitionFacts, 'adminFields'>,
): AdminField[] =>
  adminFields.filter(
    ({ field, value }) =>
      !before?.adminFields.some((each) => each.field === field && each.value === value),
  )
