import * as z from 'zod'
import { signInLimits } from '../../shared/config'
import { batch, run } from '../../shared/db/batch'
import { AppError, notFound } from '../../shared/errors'
import type { AccountId } from '../../shared/ids'
import { sha256 } from '../../shared/sha256'
import { shownText } from '../../shared/texts'
import type { ActionContext } from '../database/action-context'
import { toConstraintError } from '../database/constraint-errors'
import type { SignInAttempt } from '../schema/accounts'
import {
  type Adder,
  guardAdding,
  isBegunBy,
  type OpenedSession,
  openSessionFor,
  storeAttempt,
} from './actions'
import { closeKeySockets } from './key-actions'
import { selectOpenedWith } from './key-queries'
import {
  deletePasskey,
  guardPasskeyCount,
  insertPasskey,
  noOpener,
  selectPasskey,
  selectPasskeys,
  takeAttempt,
  touchPasskey,
} from './queries'

/** Errors of passkeys, as users read them. */
const passkeyErrors = {
  notFound: () => notFound('passkey', 'Reload the page.'),
  unknown: () =>
    new AppError('UNAUTHORIZED', 'This hub does not know this passkey.', {
      hint: 'The passkey may have been deleted. Sign in another way, then add a passkey in your settings.',
    }),
  /** @param cause why the library refused the answer */
  refused: (cause: unknown) =>
    new AppError('UNAUTHORIZED', 'The passkey could not be verified.', {
      hint: 'Try again. A prompt is valid for a few minutes and only once.',
      cause,
    }),
  notAdded: (cause: unknown) =>
    new AppError('VALIDATION', 'The passkey was not added.', {
      hint: 'Try again. A prompt is valid for a few minutes and only once.',
      cause,
    }),
  duplicate: () =>
    new AppError('CONFLICT', 'This passkey was already added.', {
      hint: 'Use it to sign in, or choose another device.',
    }),
  tooMany: (cause?: unknown) =>
    new AppError(
      'CONFLICT',
      `An account can have at most ${signInLimits.passkeysPerAccountMax} passkeys.`,
      {
        hint: 'Delete a passkey that you no longer use.',
        cause,
      },
    ),
}

/** The site that browsers see: a passkey is bound to its domain. */
export interface Site {
  /** Such as `https://hub.example.com`. */
  origin: string
  hubName: string
}

/** Returns the domain that passkeys of an origin are made for. */
export const toRpId = (origin: string): string => new URL(origin).hostname

/** ES256, RS256 and Ed25519, as COSE numbers them. */
const algorithms = [-7, -257, -8]

// The library is large, and only signing in needs it: an isolate loads it when it is used first.
const loadLibrary = () => import('@simplewebauthn/server')

/** Parses the JSON that `PublicKeyCredential.toJSON()` returned in the browser. */
const parseJson = (text: string, context: z.RefinementCtx): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    context.addIssue({ code: 'custom', message: 'Must be the answer of a passkey' })
    return z.NEVER
  }
}

const credential = {
  id: z.string().min(1).max(2_000),
  rawId: z.string().min(1).max(2_000),
  type: z.literal('public-key'),
}
const extensions = z.record(z.string(), z.unknown()).default({})
const base64url = z.string().max(20_000)

const registration = z.object({
  ...credential,
  response: z.object({
    clientDataJSON: base64url,
    attestationObject: base64url,
    transports: z.array(z.string().max(20)).max(10).default([]),
  }),
  clientExtensionResults: extensions,
})

const assertion = z.object({
  ...credential,
  response: z.object({
    clientDataJSON: base64url,
    authenticatorData: base64url,
    signature: base64url,
    userHandle: base64url.nullish(),
  }),
  clientExtensionResults: extensions,
})

/** The form that adds a passkey. */
export const addPasskeyInput = z.object({
  label: shownText.max(60),
  response: z.string().max(50_000).transform(parseJson).pipe(registration),
})

/** The form that signs in with a passkey. */
export const usePasskeyInput = z.object({
  response: z.string().max(50_000).transform(parseJson).pipe(assertion),
})

/**
 * Returns what `navigator.credentials.create` needs to add a passkey to an account.
 *
 * @throws FORBIDDEN for a session of a key that expires or lacks a scope, CONFLICT when the account has as
 *   many passkeys as it can have
 */
export async function startAddingPasskey(
  context: ActionContext,
  account: Adder & { name: string; displayName: string | null },
  { origin, hubName }: Site,
) {
  const existing = await run(context.db, selectPasskeys(account.id))
  if (existing.length >= signInLimits.passkeysPerAccountMax) throw passkeyErrors.tooMany()
  const { generateRegistrationOptions } = await loadLibrary()
  const rpId = toRpId(origin)
  const options = await generateRegistrationOptions({
    rpName: hubName,
    rpID: rpId,
    userID: encode(account.id),
    userName: account.name,
    userDisplayName: account.displayName ?? account.name,
    attestationType: 'none',
    excludeCredentials: existing
      .filter((passkey) => passkey.rpId === rpId)
      .map(({ credentialId, transports }) => ({ id: credentialId, transports })),
    authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
    supportedAlgorithmIDs: algorithms,
  })
  await storeAttempt(context, options.challenge, { kind: 'add_passkey', adder: account })
  return options
}

const constraints = {
  'passkeys.credential_id': passkeyErrors.duplicate,
  access_passkeys: passkeyErrors.tooMany,
}

/**
 * Adds the passkey that a browser made for an account.
 *
 * @throws VALIDATION when the answer is not one to a challenge for this session, CONFLICT for a duplicate or when
 *   the account has as many passkeys as it can have, UNAUTHORIZED for a session that has ended meanwhile
 */
export async function addPasskey(
  context: ActionContext,
  adder: Adder,
  { origin }: Site,
  { label, response }: z.output<typeof addPasskeyInput>,
): Promise<void> {
  const { db, clock } = context
  const { id: accountId, sessionId } = adder
  const { verifyRegistrationResponse } = await loadLibrary()
  const rpId = toRpId(origin)
  const verified = await verifyRegistrationResponse({
    response,
    expectedChallenge: async (challenge) => {
      const attempt = await takeChallenge(context, challenge, 'add_passkey')
      return attempt !== undefined && isBegunBy(attempt, adder)
    },
    expectedOrigin: origin,
    expectedRPID: rpId,
    supportedAlgorithmIDs: algorithms,
  }).catch((cause: unknown) => {
    throw passkeyErrors.notAdded(cause)
  })
  if (!verified.verified) throw passkeyErrors.notAdded('not verified')
  const { id, publicKey, counter } = verified.registrationInfo.credential
  const passkey = {
    id: clock.newId<string>(),
    accountId,
    credentialId: id,
    counter,
    rpId,
    label,
    publicKey: toBase64Url(publicKey),
    transports: response.response.transports,
    createdAt: clock.now(),
  }
  await batch(db, {
    guard: await guardAdding(context, adder),
    limit: guardPasskeyCount(accountId),
    passkey: insertPasskey(passkey, sessionId),
  }).catch((error: unknown) => {
    throw toConstraintError(error, constraints) ?? error
  })
}

/** Returns what `navigator.credentials.get` needs to sign in with any passkey of this hub. */
export async function startPasskeySignIn(context: ActionContext, { origin }: Site) {
  const { generateAuthenticationOptions } = await loadLibrary()
  const options = await generateAuthenticationOptions({
    rpID: toRpId(origin),
    userVerification: 'required',
  })
  await storeAttempt(context, options.challenge, { kind: 'use_passkey', adder: null })
  return options
}

/**
 * Signs in with a passkey. The session ends with it.
 *
 * @throws UNAUTHORIZED for an unknown passkey, a wrong signature, or a challenge that was answered before
 */
export async function signInWithPasskey(
  context: ActionContext,
  { origin }: Site,
  { response }: z.output<typeof usePasskeyInput>,
  device: string,
): Promise<OpenedSession> {
  const { db, clock } = context
  const rpId = toRpId(origin)
  const passkey = await run(db, selectPasskey(response.id, rpId))
  if (!passkey) throw passkeyErrors.unknown()
  const { userHandle, ...answer } = response.response
  if (userHandle && userHandle !== toBase64Url(encode(passkey.accountId))) {
    throw passkeyErrors.refused('The passkey names another account.')
  }
  const { verifyAuthenticationResponse } = await loadLibrary()
  const verified = await verifyAuthenticationResponse({
    response: { ...response, response: answer },
    expectedChallenge: async (challenge) =>
      (await takeChallenge(context, challenge, 'use_passkey')) !== undefined,
    expectedOrigin: origin,
    expectedRPID: rpId,
    credential: {
      id: passkey.credentialId,
      publicKey: fromBase64Url(passkey.publicKey),
      counter: passkey.counter,
    },
  }).catch((cause: unknown) => {
    throw cause instanceof AppError ? cause : passkeyErrors.refused(cause)
  })
  if (!verified.verified) throw passkeyErrors.refused('wrong signature')
  const { newCounter } = verified.authenticationInfo
  const isUsed = await run(db, touchPasskey(passkey.id, newCounter, clock.now()))
  if (!isUsed) throw passkeyErrors.refused('The passkey was deleted or used meanwhile.')
  return openSessionFor(context, passkey.accountId, { ...noOpener, passkeyId: passkey.id }, device)
}

/**
 * Deletes a passkey of an account and ends the sessions opened with it.
 *
 * @throws NOT_FOUND when the account has no such passkey
 */
export async function removePasskey(
  context: ActionContext,
  accountId: AccountId,
  id: string,
): Promise<void> {
  const { opened, isDeleted } = await batch(context.db, {
    opened: selectOpenedWith(id),
    isDeleted: deletePasskey(accountId, id),
  })
  if (!isDeleted) throw passkeyErrors.notFound()
  await closeKeySockets(context, opened)
}

const takeChallenge = async (
  { db, clock }: ActionContext,
  challenge: string,
  kind: SignInAttempt['kind'],
) => run(db, takeAttempt(await sha256(challenge), kind, clock.now()))

const encode = (text: string): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(new TextEncoder().encode(text))

const toBase64Url = (bytes: Uint8Array): string =>
  btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replace(/={1,2}$/, '')

const fromBase64Url = (text: string): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (character) =>
    character.charCodeAt(0),
  )
