import { AppError, type ErrorDetail, notFound } from '../../shared/errors'

/** Errors of agent definitions, as users read them. */
export const definitionErrors = {
  notFound: () => notFound('agent', 'Only agents that run on this hub have a definition.'),
  invalid: (name: string, details: ErrorDetail[]) =>
    new AppError('INVALID_DEFINITION', `The definition of ${name} is not valid.`, {
      hint: 'Fix the listed fields. The previous version stays active.',
      details,
    }),
  externalAgent: (name: string) =>
    new AppError('CONFLICT', `The name ${name} belongs to an external agent.`, {
      hint: 'Give the agent another name, or have the owner of the external agent delete its keys (DELETE /api/v1/agents/me/keys/:id).',
    }),
  notAnAgent: (name: string) =>
    new AppError(
      'CONFLICT',
      `The name ${name} belongs to an account that is not an agent of this hub.`,
      { hint: 'Give the agent another name.' },
    ),
}
