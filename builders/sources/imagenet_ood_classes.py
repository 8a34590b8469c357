"""The 637 classes of ImageNet-OOD: WordNet id and name.

They are a published list, made by hand: no rule gives exactly these, and 52 of them do not survive the paper's own
filters.

Source: Yang, Zhang and Russakovsky 2024, ImageNet-OOD, Appendix I.
"""

_CLASSES = """
02666943 abattoir, 02678897 adapter, 02688273 air filter, 02689434 air hammer, 02698634 alpenstock, 02705429 amphora,
02705944 amplifier, 02710044 andiron, 02723165 antiperspirant, 02725872 anvil, 02726681 apartment building, 02757337
audiometer, 02758960 autoclave, 02763604 aviary, 02767956 backbench, 02768226 backboard, 02770721 backscratcher,
02770830 backseat, 02775897 Bailey bridge, 02776205 bait, 02783994 baluster, 02786331 bandbox, 02799323 baseball cap,
02806379 bat, 02807523 bath oil, 02807616 bathrobe, 02808185 bath salts, 02811618 battle cruiser, 02812949 bayonet,
02816656 beanbag, 02817031 bearing, 02821202 bedpan, 02823586 beer garden, 02826068 bell jar, 02831237 beret, 02841187
binnacle, 02843553 bird feeder, 02851939 blindfold, 02855089 blower, 02868975 bone-ash cup, 02869249 bones, 02874442
bootjack, 02877266 bottle, 02879087 bouquet, 02880842 Bowie knife, 02881757 bowler hat, 02882190 bowling alley,
02882301 bowling ball, 02882647 bowling pin, 02887489 brace, 02890940 brake shoe, 02892948 brass knucks, 02893608
breadbasket, 02893941 bread knife, 02895438 breathalyzer, 02903204 broadcaster, 02904803 brocade, 02905036 broiler,
02910145 bucket seat, 02911332 buffer, 02925009 bushel basket, 02927764 butter dish, 02928608 button, 02939866
caliper, 02940385 call center, 02944579 camouflage, 02947660 canal boat, 02951703 canopic jar, 02952237 canopy,
02955247 capacitor, 02956699 capitol, 02957008 capote, 02960690 carabiner, 02960903 carafe, 02962061 carboy, 02962200
carburetor, 02967782 carpet sweeper, 02970685 car seat, 02973017 cartridge holder, 02973904 carving knife, 02976249
case knife, 02977330 cashmere, 02978055 casket, 02981024 catacomb, 02982232 catapult, 02986160 cattle guard, 02988066
C-clamp, 02993194 cenotaph, 02993368 censer, 02998003 cereal box, 03005033 chancellery, 03005285 chandelier, 03011355
checker, 03014440 chessman, 03019685 chin rest, 03027250 chuck, 03029445 churn, 03030353 cigar box, 03033362 circuit,
03034405 circuitry, 03041114 cleat, 03049924 cloth cap, 03050655 clothes dryer, 03051249 clothespin, 03061674 cockpit,
03063199 coffee filter, 03064758 coffin, 03066359 coil spring, 03067093 cold cathode, 03075097 comb, 03080633 compass,
03082807 compressor, 03087069 concrete mixer, 03089753 conference center, 03097362 control center, 03099147 convector,
03101664 cookie jar, 03103563 coonskin cap, 03105088 copyholder, 03105467 corbel, 03115400 cotton flannel, 03119510
coupling, 03122073 covered bridge, 03133415 crock, 03140431 cruet, 03141702 crusher, 03150232 curler, 03156767
cylinder lock, 03158885 dagger, 03161450 damper, 03175457 densitometer, 03176386 denture, 03176594 deodorant, 03180504
destroyer, 03219135 doll, 03229244 dowel, 03232543 drain basket, 03233744 drawbridge, 03235327 drawknife, 03235796
drawstring bag, 03240892 drill press, 03247083 dropper, 03249342 drugstore, 03250279 drumhead, 03253796 duffel,
03254046 duffel coat, 03254862 dulcimer, 03255899 dumpcart, 03256166 dump truck, 03261776 earphone, 03266371
eggbeater, 03267468 ejection seat, 03272125 electric hammer, 03282295 embassy, 03287351 energizer, 03293741 equalizer,
03296081 escapement, 03309356 eyepatch, 03326795 felt, 03329663 ferry, 03331077 fez, 03342127 finger-painting,
03345837 fire extinguisher, 03350204 fishbowl, 03351434 fishing gear, 03356982 flannel, 03359566 flask, 03363749
flintlock, 03364599 float, 03367410 florist, 03367545 floss, 03378174 food processor, 03379828 footbridge, 03392741
franking machine, 03397266 frigate, 03397947 Frisbee, 03398228 frock coat, 03407369 fuse, 03420801 garrison cap,
03423479 gas heater, 03423719 gasket, 03429288 gauge, 03430418 gazebo, 03431745 gearing, 03432129 gearshift, 03440682
glockenspiel, 03442756 goal, 03448590 gorget, 03451711 graduated cylinder, 03456024 gravy boat, 03456665 greatcoat,
03460040 grinder, 03466493 guided missile cruiser, 03469903 gunnysack, 03475823 hairdressing, 03490119 hand truck,
03490884 hanger, 03494537 harmonium, 03495039 harness, 03497352 hasp, 03505133 headrest, 03505504 headscarf, 03506184
headstock, 03506727 hearing aid, 03507241 hearth, 03542333 hotel, 03542605 hotel-casino, 03548402 hula-hoop, 03549473
hunting knife, 03553019 hydrofoil, 03565288 imprint, 03571625 ink bottle, 03572107 inkle, 03572321 inkwell, 03589513
jack, 03609397 kazoo, 03610682 kepi, 03612965 kettle, 03614782 keyhole, 03615790 khukuri, 03625355 knit, 03626760
knocker, 03628215 koto, 03631177 lace, 03641569 lanyard, 03645011 latch, 03659809 lever, 03659950 lever lock, 03668067
lightning rod, 03680858 lobster pot, 03699591 machete, 03718212 man-of-war, 03719743 mantilla, 03720163 map, 03721047
marble, 03725600 Mason jar, 03742019 medicine ball, 03743279 megaphone, 03760944 microtome, 03765561 mill, 03767112
millstone, 03774327 miter box, 03775388 mixer, 03784270 monstrance, 03789946 motor, 03795269 mouthpiece, 03797182
muffler, 03802007 musket, 03805280 nailfile, 03814817 neckerchief, 03819448 nest egg, 03820318 net, 03836451 nut and
bolt, 03839671 observatory, 03840823 octant, 03844045 oil lamp, 03858418 ottoman, 03865557 overpass, 03875955
paintball gun, 03883524 pannier, 03884926 pantheon, 03887185 paper fastener, 03890093 parer, 03890514 pari-mutuel
machine, 03897943 patch, 03901229 pavior, 03904909 peeler, 03919430 pestle, 03920641 pet shop, 03923379 phial,
03923918 phonograph needle, 03936466 pile driver, 03937931 pillion, 03938037 pillory, 03938401 pillow block, 03939178
pilot boat, 03941231 pinata, 03941417 pinball machine, 03941684 pincer, 03946076 pipe cutter, 03948950 piston,
03952576 pizzeria, 03955489 plane seat, 03967396 plotter, 03968293 plug, 03968581 plughole, 03973628 pocketknife,
03977592 police boat, 03983612 poplin, 03993180 pouch, 03996416 power shovel, 04000311 press, 04011827 propeller,
04013729 prosthesis, 04015908 protractor, 04016846 psaltery, 04020298 pulley, 04022332 pump, 04024862 punnet, 04039848
radar, 04041243 radiator cap, 04043411 radio-phonograph, 04049753 rain stick, 04050933 ramekin, 04051549 ramp,
04054670 rasp, 04063154 record changer, 04064401 record player, 04071263 regalia, 04072960 relay, 04075291 remote
terminal, 04075916 repair shop, 04079933 resistor, 04082562 retainer, 04093625 rink, 04093775 riot gun, 04095577
riveting machine, 04097760 roaster, 04098513 rocker, 04108822 rope bridge, 04113406 roulette wheel, 04114844 router,
04116098 rubber band, 04118635 ruin, 04119230 rumble seat, 04122685 sachet, 04123740 saddle, 04132603 samisen,
04134008 sandbag, 04136800 sash fastener, 04139140 saucepot, 04150153 scouring pad, 04150980 scraper, 04167346 seeder,
04168199 Segway, 04171831 semiconductor device, 04176068 serving cart, 04176190 serving dish, 04182152 shadow box,
04184435 shaper, 04186051 shaving cream, 04190376 shelf bracket, 04198722 shiv, 04200258 shoebox, 04200537 shoehorn,
04206356 shotgun, 04210120 shredder, 04211219 shunter, 04218564 silencer, 04219424 silk, 04221823 simulator, 04224842
sitar, 04228215 ski binding, 04228693 ski cap, 04233124 skyscraper, 04237423 slicer, 04238321 slide fastener, 04248851
snare, 04252331 snowshoe, 04252653 snow thrower, 04253057 snuffbox, 04258333 solar heater, 04258859 soldering iron,
04260364 sonogram, 04269270 spark plug, 04270891 spear, 04272389 spectator pump, 04273285 speculum, 04282494 splint,
04284869 sport kite, 04287747 spray gun, 04289027 sprinkler, 04290259 spur, 04292921 squeegee, 04303357 staple gun,
04303497 stapler, 04306592 stator, 04314914 step, 04315342 step-down transformer, 04320973 stirrup, 04326896 stool,
04331639 straightener, 04335886 streetlight, 04344003 stud finder, 04346157 stun gun, 04358117 supercomputer, 04364160
surge suppressor, 04364545 surgical instrument, 04373894 sword, 04386051 tailstock, 04387095 tam, 04389854 tank
engine, 04392113 tape, 04409128 tender, 04414675 Tesla coil, 04417180 textile machine, 04419073 theodolite, 04421872
thermometer, 04432662 ticking, 04438897 tin, 04442441 toaster oven, 04449966 tomahawk, 04450749 tongs, 04451318 tongue
depressor, 04452528 tool bag, 04453156 toothbrush, 04453390 toothpick, 04469514 trampoline, 04474035 transporter,
04477387 treadmill, 04479939 trestle bridge, 04482177 tricorn, 04483073 trigger, 04483925 trimmer, 04488202 trophy
case, 04489817 trowel, 04495698 tudung, 04495843 tugboat, 04496872 tumbler, 04497801 tuning fork, 04502502 tweed,
04502851 twenty-two, 04520784 vane, 04525821 Venn diagram, 04526964 ventilator, 04532831 vibraphone, 04533199
vibrator, 04538552 vise, 04540255 volleyball net, 04554406 washboard, 04556408 watch cap, 04559166 water cooler,
04568069 weathervane, 04568841 webbing, 04579056 whiskey bottle, 04582869 wicket, 04586581 winder, 04589325 window
box, 04590746 windshield wiper, 04594489 wire, 04606574 wrench, 04613939 Zamboni, 04615226 zither, 06275095 cable,
07579688 piece de resistance, 07579917 adobo, 07580359 casserole, 07591961 paella, 07593471 viand, 07594066 cake mix,
07607138 chocolate kiss, 07611991 mousse, 07613815 jello, 07617708 plum pudding, 07617932 corn pudding, 07618119 duff,
07618432 chocolate pudding, 07621618 garnish, 07624466 turnover, 07641928 fish cake, 07642361 fish stick, 07648913
buffalo wing, 07648997 barbecued wing, 07654148 barbecue, 07654298 biryani, 07655263 saute, 07665438 veal parmesan,
07666176 veal cordon bleu, 07680313 bap, 07680517 breadstick, 07680761 brown bread, 07681450 challah, 07681691
cinnamon bread, 07682197 crouton, 07682316 dark bread, 07682477 English muffin, 07682624 flatbread, 07682808 garlic
bread, 07684164 matzo, 07684517 raisin bread, 07685730 rye bread, 07686720 sour bread, 07686873 toast, 07687053 wafer,
07696527 butty, 07696625 ham sandwich, 07696728 chicken sandwich, 07696839 club sandwich, 07696977 open-face sandwich,
07697699 Sloppy Joe, 07697825 bomber, 07698250 gyro, 07698401 bacon-lettuce-tomato sandwich, 07698543 Reuben, 07698672
western, 07698782 wrap, 07708124 julienne, 07709172 potherb, 07713267 pieplant, 07713763 mustard, 07715221 brussels
sprouts, 07723039 leek, 07730406 celery, 07733394 gumbo, 07750736 Jordan almond, 07750872 apricot, 07753743 passion
fruit, 07755411 melon, 07758680 grape, 07762114 papaw, 07762740 ackee, 07765073 date, 07765999 jujube, 07770763
pumpkin seed, 07775197 sunflower seed, 07806221 salad, 07817871 fennel, 07823951 curry, 07830593 hot sauce, 07832416
pesto, 07835457 hollandaise, 07835921 bourguignon, 07837362 white sauce, 07838073 gravy, 07840027 veloute, 07841495
boiled egg, 07842202 poached egg, 07842308 scrambled eggs, 07842433 deviled egg, 07842605 shirred egg, 07842753
omelet, 07843464 souffle, 07843636 fried egg, 07849336 yogurt, 07861557 coq au vin, 07861813 chicken and rice,
07862244 bacon and eggs, 07862348 barbecued spareribs, 07862461 beef Bourguignonne, 07862611 beef Wellington, 07864756
chicken Kiev, 07864934 chili, 07865196 chop suey, 07865484 chow mein, 07866015 croquette, 07866151 cottage pie,
07866277 rissole, 07866409 dolmas, 07866723 egg roll, 07866868 eggs Benedict, 07867021 enchilada, 07867164 falafel,
07867324 fish and chips, 07867421 fondue, 07868200 French toast, 07868340 fried rice, 07868508 frittata, 07868830
galantine, 07868955 gefilte fish, 07869522 corned beef hash, 07869611 jambalaya, 07869775 kabob, 07870313 seafood
Newburg, 07871436 meatball, 07872593 moussaka, 07873464 pilaf, 07874780 porridge, 07875436 risotto, 07876651 Scotch
egg, 07877299 Spanish rice, 07877675 steak tartare, 07877849 pepper steak, 07878647 stuffed peppers, 07878926 stuffed
tomato, 07879072 succotash, 07879174 sukiyaki, 07879350 sashimi, 07879450 sushi, 07879659 tamale, 07879953 tempura,
07880213 terrine, 07880325 Welsh rarebit, 07880458 schnitzel, 07880751 taco, 07881404 tostada, 07929351 coffee bean,
07933154 tea bag, 07937461 couscous, 07938149 vitamin pill, 09451237 supernova, 09818022 astronaut, 09834699 ballet
dancer, 09846755 beekeeper, 09913593 cheerleader, 10091651 fireman, 10366966 nurse, 10514429 referee, 10521662
reporter, 10772092 weatherman, 11706761 avocado, 11851578 prickly pear, 11877283 kohlrabi, 11879054 bok choy, 12088223
yam, 12136392 rattan, 12158031 gourd, 12158443 pumpkin, 12172364 okra, 12246232 blueberry, 12301445 olive, 12333771
guava, 12352990 plantain, 12373100 papaya, 12399132 mulberry, 12400489 breadfruit, 12433081 onion, 12441183 asparagus,
12501202 tamarind, 12515925 chickpea, 12544539 lentil, 12560282 pea, 12578916 cowpea, 12636224 medlar, 12638218 plum,
12642090 wild cherry, 12648045 peach, 12709103 pomelo, 12709688 grapefruit, 12711984 lime, 12713063 kumquat, 12744387
litchi, 12761284 mango, 12771192 persimmon, 12805146 currant, 12911673 tomatillo, 13136316 bean, 13136556 nut
"""

OOD_CLASSES: dict[str, str] = {
    f"n{offset}": name for offset, _, name in (entry.partition(" ") for entry in " ".join(_CLASSES.split()).split(", "))
}
"""A wnid's name, in the order of the wnids."""
