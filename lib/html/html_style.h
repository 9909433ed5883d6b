/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The style sheet of the page: for screens in light and dark, from 375 pixels wide, and for paper.
 * Each colour is defined once; those of thread states can be distinguished in both. On a narrow
 * screen the rows of a table become blocks, each cell with its column's name.
 */
#ifndef INGERO_HTML_HTML_STYLE_H
#define INGERO_HTML_HTML_STYLE_H

/* clang-format off */
#define HTML_STYLE \
":root{color-scheme:light dark;--bg:#f6f7f9;--card:#fff;--ink:#1a1d23;--dim:#5b6472;--line:#dfe3e8;--soft:#eceff3;" \
"--red:#c62828;--amber:#a65a00;--green:#2e7d32;--blue:#1f5fbf;--cyan:#00788a;--code:#f1f3f6}\n" \
"@media(prefers-color-scheme:dark){:root{--bg:#14171c;--card:#1c2027;--ink:#e6e9ee;--dim:#9aa4b2;--line:#323943;" \
"--soft:#2a3039;--red:#ff7b72;--amber:#e8a33d;--green:#6cc070;--blue:#7ab0ff;--cyan:#4fc3d4;--code:#262c35}}\n" \
"*{box-sizing:border-box}\n" \
"body{margin:0;background:var(--bg);color:var(--ink);font:15px/1.5 system-ui,-apple-system,\"Segoe UI\",Roboto,\"DejaVu Sans\",sans-serif;" \
"overflow-wrap:anywhere}\n" \
"main,header,footer{max-width:1080px;margin:0 auto;padding:0 20px}\n" \
"header{padding-top:22px}\n" \
"a{color:var(--blue);text-decoration:none}a:hover{text-decoration:underline}\n" \
"h1{font-size:22px;line-height:1.35;margin:6px 0 14px;font-weight:650}\n" \
"h2{font-size:17px;margin:0 0 10px;font-weight:650}\n" \
"h3{font-size:14px;margin:18px 0 6px;font-weight:650}h3:first-of-type{margin-top:4px}\n" \
"h4{font-size:13px;margin:14px 0 4px;color:var(--dim);font-weight:600}\n" \
"p{margin:4px 0}p.i{color:var(--dim);font-size:14px}\n" \
".meta{color:var(--dim);font-size:13px}\n" \
"section,.verdict{background:var(--card);border:1px solid var(--line);border-radius:10px;padding:16px 20px;margin:14px 0}\n" \
".verdict{border-left:6px solid var(--dim)}.verdict.v3{border-left-color:var(--red)}.verdict.v2{border-left-color:var(--amber)}" \
".verdict.v1{border-left-color:var(--blue)}.verdict.v0{border-left-color:var(--green)}\n" \
".badge{display:inline-block;font-size:11px;font-weight:700;letter-spacing:.04em;padding:1px 8px;border-radius:9px;color:#fff;background:#5b6472}" \
".badge.v3{background:#c62828}.badge.v2{background:#a65a00}.badge.v1{background:#1f5fbf}.badge.v0{background:#2e7d32}\n" \
".key{display:grid;grid-template-columns:repeat(3,1fr);gap:12px 24px;margin:0 0 12px}.key div{min-width:0}" \
".key dt{font-size:12px;color:var(--dim)}.key dd{margin:0;font-weight:600}.key dd small{font-weight:400;color:var(--dim);font-size:13px}\n" \
".warn{border-color:var(--amber);border-left:6px solid var(--amber);background:var(--card);border-radius:10px;" \
"border-style:solid;border-width:1px 1px 1px 6px;padding:8px 18px;margin:14px 0}\n" \
"pre{margin:4px 0 6px;padding:7px 12px;background:var(--code);border:1px solid var(--line);border-radius:6px;overflow-x:auto;" \
"white-space:pre-wrap;overflow-wrap:anywhere;font:13px/1.45 ui-monospace,SFMono-Regular,Consolas,\"DejaVu Sans Mono\",monospace}\n" \
"pre.sh code:before{content:\"$ \";color:var(--dim)}\n" \
"svg{display:block}svg .bg{fill:var(--soft)}\n" \
".course{width:100%;height:150px}.plot{position:relative;padding-left:64px}.y{position:absolute;left:0;top:-.6em;width:58px;height:calc(150px + 1.2em);" \
"display:flex;flex-direction:column;justify-content:space-between;text-align:right;font-size:12px;line-height:1.2em;color:var(--dim)}" \
".course{border-left:1px solid var(--dim);border-bottom:1px solid var(--dim)}.lane svg{margin-left:64px}\n" \
".x{display:flex;justify-content:space-between;font-size:12px;color:var(--dim);margin:2px 0 8px}\n" \
".legend{list-style:none;padding:0;margin:4px 0 14px;display:flex;flex-wrap:wrap;gap:4px 18px;font-size:13px}" \
".legend li{display:flex;align-items:center;gap:6px}.legend svg{width:12px;height:12px}.legend b{font-weight:600}\n" \
".lane{font-size:13px;margin:7px 0 0}.lane span{color:var(--dim)}.lane svg{width:calc(100% - 64px);height:13px;margin-top:2px}\n" \
".lane .v3{fill:var(--red);fill-opacity:.35}.lane .v2{fill:var(--amber);fill-opacity:.4}.lane .v1{fill:var(--blue);fill-opacity:.35}" \
".lane .e{fill:var(--ink)}.lane .gap{fill:var(--ink);fill-opacity:.55}\n" \
".p-preempted{fill:#d1495b}.p-runqueue{fill:#edae49}.p-wakeup{fill:#8d6cab}.p-wait_unknown{fill:#8a94a3}.p-throttled{fill:#00798c}" \
".p-stolen{fill:#6b4226}.p-disk{fill:#3d7dd8}.p-lock{fill:#2e933c}.p-fault{fill:#c86fc9}\n" \
".f{display:grid;grid-template-columns:110px 1fr;gap:0 12px;margin:3px 0}.f .k{color:var(--dim);font-size:13px;padding-top:1px}" \
".f span{min-width:0}\n" \
"section[id^=cause] .f~pre,section[id^=cause] .f~p.i{margin-left:122px}\n" \
".g{display:grid;grid-template-columns:150px 130px minmax(0,1fr) minmax(0,240px);gap:0 14px;align-items:center;margin:3px 0;font-size:14px}" \
".g.h{grid-template-columns:150px 130px minmax(0,1fr)}.g.w{grid-template-columns:294px minmax(0,420px) 1fr}.g .k{color:var(--dim)}.g .v{min-width:0}\n" \
".b{width:100%;height:10px}.b rect{fill:#8a94a3}.b .bg{fill:var(--soft)}" \
".s3 rect{fill:var(--red)}.s4 rect{fill:var(--green)}.s5 rect{fill:var(--amber)}.s6 rect{fill:var(--blue)}.s7 rect{fill:var(--cyan)}" \
"svg.b rect.bg{fill:var(--soft)}\n" \
".c{width:100%;max-width:420px;height:34px;margin:3px 0}.c .a{fill:var(--blue);fill-opacity:.18}.c .l{fill:none;stroke:var(--blue);" \
"stroke-width:1.5;vector-effect:non-scaling-stroke}\n" \
".t{overflow-x:auto;margin:4px 0 10px}table{border-collapse:collapse;font-size:13px;width:100%}" \
"th{text-align:left;color:var(--dim);font-weight:600;font-size:12px;padding:3px 10px 3px 0;border-bottom:1px solid var(--line);" \
"white-space:nowrap;vertical-align:bottom}" \
"td{padding:3px 10px 3px 0;border-bottom:1px solid var(--soft);vertical-align:top}" \
"td.n,th.n{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}td.e{color:var(--dim)}" \
"td:first-child:not(.n){font-weight:600;min-width:130px}tr:last-child td{border-bottom:0}\n" \
".t1{font-weight:650}.t31{color:var(--red)}.t32{color:var(--green)}.t33{color:var(--amber)}.t34,.t36{color:var(--cyan)}\n" \
".blame{display:grid;grid-template-columns:72px minmax(0,2fr) minmax(80px,1fr) 72px;gap:0 12px;align-items:center;margin:5px 0}.blame .badge{justify-self:start}" \
".blame .n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}\n" \
".st{display:grid;grid-template-columns:62px minmax(80px,200px) 76px minmax(0,1fr);gap:0 12px;align-items:start;margin:7px 0;font-size:14px}" \
".st svg{margin-top:6px}.st .n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}.st p{margin:1px 0}.st p b{font-weight:600}\n" \
".out{font-size:12px;font-weight:400;color:var(--dim);border:1px solid var(--line);border-radius:9px;padding:0 8px;display:inline-block}\n" \
"nav{font-size:13px;display:flex;flex-wrap:wrap;gap:2px 16px;margin:0 0 4px}\n" \
"footer{color:var(--dim);font-size:12px;padding-bottom:30px}\n" \
"@media(max-width:640px){main,header,footer{padding:0 12px}header{padding-top:12px}h1{font-size:18px}" \
"section,.verdict{padding:12px 13px}.key{grid-template-columns:1fr;gap:8px}" \
".f~pre,.f~p.i{margin-left:0!important}.y{height:calc(110px + 1.2em)}.plot{padding-left:52px}.y{width:46px}.lane svg{margin-left:52px;width:calc(100% - 52px)}.f{grid-template-columns:1fr;margin:6px 0}.f .k{font-size:12px}" \
".g,.g.h,.g.w{grid-template-columns:110px 1fr;gap:0 10px}.g .v,.g .c{grid-column:1/-1;max-width:none}.g .v{margin-bottom:4px}.g.w .k,.g.w svg{grid-column:1/-1}" \
".st{grid-template-columns:auto minmax(0,1fr) auto;margin:10px 0}.st>span:last-child{grid-column:1/-1}" \
".blame{grid-template-columns:auto minmax(0,1fr) auto;gap:3px 8px;align-items:start;margin:9px 0}.blame .n{grid-column:3;grid-row:1}.blame svg{grid-column:1/-1;grid-row:2}" \
"table,tbody{display:block}thead{display:none}tr{display:block;padding:6px 0;border-bottom:1px solid var(--soft)}" \
"td,td.n{display:inline;border:0;padding:0 10px 0 0;white-space:normal;text-align:left}td.e{display:none}" \
"td:not(:first-child):before{content:attr(data-h)\"\\00a0\";color:var(--dim);font-size:12px;font-weight:400}" \
"td:first-child{display:block;font-weight:600}td.n:first-child:before{content:attr(data-h)\" \";color:var(--dim);font-size:12px;font-weight:400}" \
".legend{gap:2px 14px}.course{height:110px}}\n" \
"@page{margin:14mm}\n" \
"@media print{:root{color-scheme:light;--bg:#fff;--card:#fff;--ink:#000;--dim:#444;--line:#bbb;--soft:#e8e8e8;--red:#b71c1c;" \
"--amber:#8a4b00;--green:#1b5e20;--blue:#0d47a1;--cyan:#006070;--code:#f4f4f4}" \
"body{font-size:10pt}main,header,footer{max-width:none;padding:0}nav{display:none}" \
"section,.verdict{border:0;border-top:1px solid var(--line);border-radius:0;padding:8px 0;margin:8px 0;break-inside:auto}" \
".verdict{border:1px solid var(--line);border-left-width:6px;padding:8px 12px}" \
"h2,h3,h4{break-after:avoid}tr,.f,.g,.st,.lane,pre,.blame,.key{break-inside:avoid}thead{display:table-header-group}" \
".t{overflow:visible}table{font-size:8pt}th{font-size:7.5pt}td,th{padding-right:6px}.badge{border:1px solid #000;color:#000;background:none!important}" \
"a{color:inherit}.course{height:36mm}.y{height:calc(36mm + 1.2em)}svg{print-color-adjust:exact;-webkit-print-color-adjust:exact}}\n"
/* clang-format on */

#endif
