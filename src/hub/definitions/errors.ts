import { definitionLimits } from '../../shared/config'
import { AppError, type ErrorDetail, notFound } from '../../shared/errors'

function describeChange(name: string, owner: string | null, base: number, version: number): string {
  if (version === 0) return `There is no agent ${name} any more.`
  const of = owner === null ? '' : ` It belongs to @${owner}.`
  return base === 0
    ? `An agent ${name} exists already, with version ${version}.${of}`
    : `The definition of ${name} has changed: this is based on version ${base}, and the current version is ${version}.${of}`
}

/** Errors of agent definitions, as users read them. */
export const definitionErrors = {
  notFound: () => notFound('agent', 'Only agents that run on this hub have a definition.'),
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
