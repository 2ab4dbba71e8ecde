import { AppError, notFound } from '../../shared/errors'

const approveOnce = 'Approve this call once instead.'

const refuse = (message: string, hint = approveOnce): AppError =>
  new AppError('VALIDATION', message, { hint })

/** Errors of standing rules, as those who approve read them. */
export const ruleErrors = {
  notFound: () => notFound('standing rule'),
  personOnly: () =>
    new AppError('FORBIDDEN', 'Only a person can create a standing rule.', { hint: approveOnce }),
  adminOnly: () => new AppError('FORBIDDEN', 'Only admins can view standing rules.'),
  onlyWithApproval: () =>
    refuse(
      'A standing rule can only be created with the decision "approve".',
      'Leave standing_rule out, or approve the call.',
    ),
  unknownTool: (tool: string) => refuse(`${tool} is no longer a tool of this hub.`),
  secretArguments: () =>
    refuse('A standing rule cannot contain a secret, and an argument of this call does.'),
  longArguments: () => refuse('The arguments of this call are too long for a standing rule.'),
  unmatchable: () =>
    refuse(
      'These prefixes do not describe this call.',
      'A prefix is at least 3 characters of the text of that argument, ends with a space, "/", ":", "#" or ",", and contains the whole origin of a URL.',
    ),
  manyRequesters: () =>
    refuse(
      'This call was not requested by one account alone.',
      'Let the rule hold for any requester, or approve this call once.',
    ),
  tooMany: (agent: string) =>
    new AppError('CONFLICT', `${agent} has too many standing rules.`, {
      hint: 'Revoke some of them on the policy page.',
    }),
}
