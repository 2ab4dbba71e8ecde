import { AppError } from '../../shared/errors'
import { formatUnknown } from '../../shared/find-nearest'

const toSentence = (text: string): string => (text.endsWith('?') ? text : `${text}.`)

/** Errors of model overrides, as users read them. */
export const modelErrors = {
  unknownProvider: (provider: string, providers: readonly string[]) =>
    new AppError('VALIDATION', toSentence(formatUnknown('provider', provider, providers)), {
      hint: `Use provider/model, where the provider is one of ${providers.join(', ')}.`,
    }),
  unknownModel: (problem: string) =>
    new AppError('VALIDATION', toSentence(problem), { hint: 'Use the exact name of the model.' }),
  missingModelName: (provider: string) =>
    new AppError('VALIDATION', `The model name after ${provider}/ is missing.`, {
      hint: 'Use provider/model.',
    }),
  notConfigured: (provider: string, setting: string | undefined) =>
    new AppError('VALIDATION', `Models of ${provider} are not configured: ${setting} is not set.`, {
      hint: 'An admin can set up the provider at /models.',
    }),
}
