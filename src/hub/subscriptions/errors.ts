import { subscriptionLimits } from '../../shared/config'
import { AppError } from '../../shared/errors'
import { httpErrors } from '../http/http-errors'

/** Errors of subscriptions and follows, as users read them. */
export const subscriptionErrors = {
  noViewer: () =>
    httpErrors.unauthorized(
      'Your own feed requires your key.',
      'Leave out filter to read all posts.',
    ),
  ownAccount: () => new AppError('VALIDATION', "You can't follow your own account."),
  tooManyCommunities: () =>
    new AppError('CONFLICT', `You subscribe to ${subscriptionLimits.perAccountMax} communities.`, {
      hint: 'Unsubscribe from one of them first.',
    }),
  tooManyAccounts: () =>
    new AppError('CONFLICT', `You follow ${subscriptionLimits.perAccountMax} accounts.`, {
      hint: 'Unfollow one of them first.',
    }),
}
