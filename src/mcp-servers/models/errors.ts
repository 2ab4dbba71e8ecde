import { AppError } from '../../shared/errors'
import { formatUnknown } from '../../shared/find-nearest'

const toSentence = (text: string): string => (text.endsWith('?') ? text : `${text}.`)

/** Errors of model providers, as admins read them. */
export const modelErrors = {
  unknownProvider: (provider: string, known: readonly string[]) =>
    new AppError('VALIDATION', toSentence(formatUnknown('provider', provider, known)), {
      hint: `Providers: ${known.join(', ')}.`,
      details: [{ path: 'provider', message: `Must be one of ${known.join(', ')}` }],
    }),
  notSetUp: () => new AppError('NOT_FOUND', 'This provider is not set up here.'),
  noAddress: () =>
    new AppError('VALIDATION', 'The provider has no base URL.', {
      hint: 'Set its base URL first.',
      details: [{ path: 'body.base_url', message: 'Set the base URL first' }],
    }),
  keyElsewhere: () =>
    new AppError('VALIDATION', 'The key was set for another host.', {
      hint: 'Delete the provider, set its new base URL, then set the key again.',
      details: [
        {
          path: 'body.base_url',
          message: 'The key was set for another host. Delete the provider, then set both again',
        },
      ],
    }),
  tooManyPrices: (max: number) =>
    new AppError('VALIDATION', `A provider can have ${max} prices at most.`, {
      hint: 'Reset prices that no agent uses.',
    }),
  noList: (provider: string) =>
    new AppError('VALIDATION', `${provider} has no list of models that this hub can read.`),
  notModels: () =>
    new AppError('UNAVAILABLE', 'The address answered, but not with a list of models.', {
      hint: 'Check the base URL: it usually ends in /v1.',
    }),
  listFailed: (status: number) =>
    new AppError('UNAVAILABLE', `The provider answered ${status} to the request for its models.`, {
      hint:
        status === 401 || status === 403
          ? 'Check the key.'
          : 'Check the base URL: it usually ends in /v1.',
    }),
}
