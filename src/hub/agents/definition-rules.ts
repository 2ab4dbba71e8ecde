import type { AdminField, DefinitionFacts, DefinitionFiles } from '../../agents/contract/agents'
import { definitionLimits } from '../../shared/config'
import {
  createDiffBudget,
  type DiffLine,
  diffLines,
  toHunks,
  toLines,
} from '../../shared/diff-lines'
import { AppError, type ErrorDetail, notFound } from '../../shared/errors'
import { formatPlural } from '../../shared/format'
import type { AccountId } from '../../shared/ids'
import type { AccountKind, Role } from '../contract/hub'

function describeChange(name: string, owner: string | null, base: number, version: number): string {
  if (version === 0) return `There is no agent ${name} any more.`
  const of = owner === null ? '' : ` It belongs to @${owner}.`
  return base === 0
    ? `An agent ${name} exists already, with version ${version}.${of}`
    : `The definition of ${name} has changed: this is based on version ${base}, and the current version is ${version}.${of}`
}

/** A conflict with a change that waits for its trial. */
export class OtherHeldError extends AppError {
  constructor(name: string, savedBy: string) {
    super('CONFLICT', `A change of ${name} by @${savedBy} waits already.`, {
      hint: 'Only one change of an agent can wait. Apply or discard that one first, on its page.',
    })
  }
}

/** Errors of agent definitions, as users read them. */
export const definitionErrors = {
  notFound: () => notFound('agent', 'Only agents that run on this hub have a definition.'),
  noForm: () =>
    new AppError('VALIDATION', 'Its config.yaml cannot be read.', { hint: 'Edit its files.' }),
  grantsDenied: (grants: string[]) =>
    new AppError('CONFLICT', `Its policy denies ${grants.join(', ')}.`, {
      hint: 'Change its policy at /grants.',
    }),
  heldForTrial: () =>
    new AppError('CONFLICT', 'Its change has to pass a trial first.', {
      hint: 'The change is saved; its page says what becomes of it.',
    }),
  otherHeld: (name: string, savedBy: string) => new OtherHeldError(name, savedBy),
  notGiven: (failures: string[]) =>
    new AppError('CONFLICT', 'Not all of these agents were given the tools.', {
      hint: failures.join(' '),
    }),
  invalid: (name: string, details: ErrorDetail[]) =>
    new AppError('INVALID_DEFINITION', `The definition of ${name} is not valid.`, {
      hint: 'Fix the listed fields. The previous version stays active.',
      details,
    }),
  /** @param details the difference from the current version to the definition that was sent */
  changedSince: (
    {
      name,
      owner,
      base,
      version,
    }: { name: string; owner: string | null; base: number; version: number },
    details: ErrorDetail[],
  ) =>
    new AppError('CONFLICT', describeChange(name, owner, base, version), {
      hint:
        version === 0
          ? 'Send base_version 0 to create it again.'
          : `Merge the differences and send base_version ${version}.`,
      details,
    }),
  ofSomebodyElse: (name: string, owner: string, version: number) =>
    new AppError('CONFLICT', `The agent ${name} belongs to @${owner}. Nothing was changed.`, {
      hint: `Give your agent another name. To change the one of @${owner}, pull its definition, edit that, and send base_version ${version}.`,
    }),
  noVersion: (name: string, version: number) =>
    new AppError('NOT_FOUND', `${name} has no version ${version}.`, {
      hint: `Check the number in the list of versions. The newest ${definitionLimits.versionsKept} are kept.`,
    }),
  missingFiles: (name: string, version: number) =>
    new AppError('NOT_FOUND', `The files of version ${version} of ${name} are not complete.`, {
      hint: 'Push the folder of the agent again, or restore another version.',
    }),
  membersOnly: () =>
    new AppError('FORBIDDEN', 'Only members can create agents.', {
      hint: 'Ask an admin of this hub to make you a member.',
    }),
  notOwner: () =>
    new AppError('FORBIDDEN', 'Only admins and the owner of the agent can do this.', {
      hint: 'Ask the owner, whose name is on the page of the agent.',
    }),
  grantsByAdmin: (grants: string[]) =>
    new AppError('FORBIDDEN', `Only an admin can allow ${grants.join(', ')}.`, {
      hint: 'Save without allowing them, then ask an admin to allow them for your agent.',
    }),
  fieldsByAdmin: (name: string, details: ErrorDetail[]) =>
    new AppError('FORBIDDEN', `Only an admin can set some fields of ${name}.`, {
      hint: 'Remove the listed fields, or ask an admin to set them.',
      details,
    }),
  tooMany: () =>
    new AppError(
      'CONFLICT',
      `You have ${definitionLimits.agentsPerMember} agents, which is the most that a member can have.`,
      { hint: 'Delete one of them first, or ask an admin to create the agent.' },
    ),
  tooManySaves: () =>
    new AppError(
      'RATE_LIMITED',
      `You have saved ${definitionLimits.savesPerDay} versions of your agents within 24 hours, which is the most that a member can save.`,
      { hint: 'Try again later, or ask an admin to save it.' },
    ),
  externalAgent: (name: string) =>
    new AppError('CONFLICT', `The name ${name} belongs to an external agent.`, {
      hint: 'Give the agent another name, or have the owner of the external agent delete its keys (DELETE /api/v1/me/keys/:id).',
    }),
  notAnAgent: (name: string) =>
    new AppError(
      'CONFLICT',
      `The name ${name} belongs to an account that is not an agent of this hub.`,
      { hint: 'Give the agent another name.' },
    ),
}

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

/** What differs in a file. */
export interface FileDiff {
  path: string
  /**
   * The changed lines; `null` among them stands for unchanged lines that are left out, and in their place for
   * files that differ too much.
   */
  lines: (DiffLine | null)[] | null
  /** Lines of the file in both versions. */
  linesBefore: number
  linesAfter: number
}

/** Lines of all files together that are shown of one difference. */
const linesShownMax = 4_000

/** Returns the files of a definition that differ, sorted by path. A missing file counts as empty. */
export function diffFiles(before: DefinitionFiles, after: DefinitionFiles): FileDiff[] {
  const budget = createDiffBudget()
  let linesLeft = linesShownMax
  const paths = new Set([...Object.keys(before), ...Object.keys(after)])
  return [...paths].sort().flatMap((path) => {
    const [old, current] = [before[path] ?? '', after[path] ?? '']
    if (old === current) return []
    const compared = diffLines(old, current, budget)
    const hunks = compared && toHunks(compared)
    const lines = hunks && hunks.length <= linesLeft ? hunks : null
    linesLeft -= lines?.length ?? 0
    return [{ path, lines, linesBefore: toLines(old).length, linesAfter: toLines(current).length }]
  })
}

/** Says in place of the changed lines that there are too many. */
export const formatTooDifferent = ({ linesBefore, linesAfter }: FileDiff): string =>
  `Too different to show line by line: ${formatPlural(linesBefore, 'line', 'lines')} before, ${formatPlural(linesAfter, 'line', 'lines')} after.`

/** Formats the changed lines as text, one line each: `-` before the old, `+` before the new. */
const formatDiff = (diff: FileDiff): string =>
  diff.lines?.map((line) => (line === null ? '…' : `${line.sign} ${line.text}`)).join('\n') ??
  formatTooDifferent(diff)

/** Formats differences for the details of an error. */
export const toDiffDetails = (diffs: FileDiff[], version: number): ErrorDetail[] =>
  diffs.map((diff) => ({
    path: diff.path,
    message: `Differs from version ${version}:\n${formatDiff(diff)}`,
  }))
