import { AppError } from '../../shared/errors'
import { secretCharsMin } from '../credentials/scrub'

const unavailable = (message: string, hint?: string) =>
  new AppError('UNAVAILABLE', message, hint === undefined ? {} : { hint })

/** Errors of connecting an account, as people read them. None quotes what a server answered. */
export const connectErrors = {
  noOauth: (service: string) =>
    unavailable(
      `The server ${service} offers no accounts to connect.`,
      'It publishes no OAuth metadata (RFC 9728, RFC 8414). An admin can check its URL.',
    ),
  otherIssuer: (service: string) =>
    unavailable(`The authorization server of ${service} describes another issuer than itself.`),
  otherResource: (service: string) =>
    unavailable(`The server ${service} describes another resource than itself.`),
  noPkce: (service: string) =>
    unavailable(`The authorization server of ${service} does not support PKCE with S256.`),
  noClient: (service: string) =>
    unavailable(
      `The authorization server of ${service} registers no clients by itself.`,
      'An admin registers this hub there and sets the client id of the server.',
    ),
  blockedPage: (service: string, problem: string) =>
    unavailable(`The sign-in page of ${service} cannot be opened: ${problem}.`),
  refused: (service: string, code: string) =>
    unavailable(`The authorization server of ${service} refused the request (${code}).`),
  failed: (service: string) =>
    unavailable(`The authorization server of ${service} gave an unexpected answer.`),
  unusableToken: (service: string) =>
    unavailable(
      `The server ${service} gave a token that this hub cannot use.`,
      `A token is a bearer token with at least ${secretCharsMin} characters of ASCII.`,
    ),
  expired: () =>
    new AppError('CONFLICT', 'This connection was not started here, or it has expired.', {
      hint: 'Connect the account again.',
    }),
  moved: (service: string) =>
    new AppError('CONFLICT', `The server ${service} has changed in the meantime.`, {
      hint: 'Connect the account again.',
    }),
  denied: (service: string) =>
    new AppError('FORBIDDEN', `You did not allow this hub to use your account at ${service}.`),
  busy: (service: string) =>
    unavailable(
      `The access to the account at ${service} is being renewed by another call.`,
      'Try again in a moment.',
    ),
}
