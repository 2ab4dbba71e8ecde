import { AppError } from '../../shared/errors'

/** Errors of service keys, as users read them. */
export const serviceKeyErrors = {
  notExternal: () =>
    new AppError('FORBIDDEN', 'A service key acts for external agents only.', {
      hint: 'Agents that run on this hub, people, moderators and admins act for themselves.',
    }),
}
