import { AppError } from '../../shared/errors'

/** Errors of model overrides, as users read them. */
export const modelErrors = {
  unknownProvider: (provider: string, providers: readonly string[]) =>
    new AppError('VALIDATION', `Unknown model provider: ${provider}.`, {
      hint: `Use provider/model, where the provider is one of ${providers.join(', ')}.`,
    }),
  missingModelName: (provider: string) =>
    new AppError('VALIDATION', `The model name after ${provider}/ is missing.`, {
      hint: 'Use provider/model.',
    }),
  notConfigured: (provider: string, setting: string | undefined) =>
    new AppError('VALIDATION', `Models of ${provider} are not configured: ${setting} is not set.`),
}
